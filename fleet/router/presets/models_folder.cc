#include "fleet/router/presets/models_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/gguf/gguf_name.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

bool IsProjector(std::string_view file_name) {
  return file_name.find("mmproj") != std::string_view::npos;
}

// Returns the entries in the order of their names. An entry that cannot be looked at is left out.
Result<std::vector<fs::path>> Entries(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator at(folder, error);
  std::vector<fs::path> paths;
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    return Fail(missing ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                "cannot read the folder " + folder.string() + ": " + error.message());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Returns the name of a file with a model, or its first part; nullopt for other files.
std::optional<GgufName> ModelFileName(const fs::path& path) {
  auto name = ParseGgufName(path.filename().string());
  return name && name->part == 1 && !IsFolder(path) ? name : std::nullopt;
}

// The model of a folder in the folder. Its path is empty if there is none.
FoundModel ModelIn(const fs::path& folder) {
  FoundModel model;
  model.name = folder.filename().string();
  const auto paths = Entries(folder);
  if (!paths) return model;
  for (const fs::path& path : *paths) {
    const auto name = ModelFileName(path);
    if (!name) continue;
    std::string* const role = IsProjector(name->stem) ? &model.projector : &model.path;
    if (role->empty()) *role = path.string();
  }
  return model;
}

}  // namespace

Result<std::vector<FoundModel>> ListModels(const std::string& folder) {
  const auto paths = Entries(folder);
  if (!paths) return tl::unexpected(paths.error());
  std::map<std::string, FoundModel> found;
  for (const fs::path& path : *paths) {
    const auto name = ModelFileName(path);
    if (!name || IsProjector(name->stem)) continue;
    found.emplace(name->stem, FoundModel{name->stem, path.string(), ""});
  }
  for (const fs::path& path : *paths) {
    if (!IsFolder(path)) continue;
    FoundModel model = ModelIn(path);
    if (!model.path.empty()) found.emplace(model.name, model);
  }
  std::vector<FoundModel> models;
  for (auto& [name, model] : found) models.push_back(std::move(model));
  return models;
}

uint64_t FileBytes(const ModelEntry& model) {
  uint64_t sum = 0;
  for (const std::string& argument : model.arguments) {
    const size_t value = argument.find('=');
    if (!argument.starts_with("--") || value == std::string::npos) continue;
    const auto name = ParseGgufName(std::string_view(argument).substr(value + 1));
    for (int part = 1; name && part <= name->parts; ++part) {
      std::error_code error;
      const auto bytes = fs::file_size(PartName(*name, part), error);
      if (!error) sum += bytes;
    }
  }
  return sum;
}

}  // namespace cairn
