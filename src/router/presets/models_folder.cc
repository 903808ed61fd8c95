#include "router/presets/models_folder.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = ".gguf";

bool IsProjector(std::string_view file_name) {
  return file_name.find("mmproj") != std::string_view::npos;
}

bool IsDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A file's name without its end. `part` is the number of "NAME-00002-of-00003", which is then
// left out too, and else 1.
struct FileName {
  std::string name;
  size_t part = 1;
};
FileName Split(std::string_view file_name) {
  constexpr std::string_view kPart = "-00000-of-00000";
  std::string_view name = file_name.substr(0, file_name.size() - kEnd.size());
  if (name.size() <= kPart.size()) return {std::string(name)};
  const std::string_view tail = name.substr(name.size() - kPart.size());
  const std::string_view number = tail.substr(1, 5);
  if (tail.front() != '-' || tail.substr(6, 4) != "-of-" || !IsDigits(number) ||
      !IsDigits(tail.substr(10))) {
    return {std::string(name)};
  }
  name.remove_suffix(kPart.size());
  return {std::string(name), static_cast<size_t>(std::stoul(std::string(number)))};
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

bool IsModelFile(const fs::path& path) {
  return path.filename().string().ends_with(kEnd) && !IsFolder(path);
}

// The model of a folder in the folder. Its path is empty if there is none.
FoundModel ModelIn(const fs::path& folder) {
  FoundModel model;
  model.name = folder.filename().string();
  const auto paths = Entries(folder);
  if (!paths) return model;
  for (const fs::path& path : *paths) {
    if (!IsModelFile(path)) continue;
    const std::string file_name = path.filename().string();
    if (IsProjector(file_name)) {
      if (model.projector.empty()) model.projector = path.string();
    } else if (model.path.empty() && Split(file_name).part == 1) {
      model.path = path.string();
    }
  }
  return model;
}

}  // namespace

Result<std::vector<FoundModel>> ListModels(const std::string& folder) {
  const auto paths = Entries(folder);
  if (!paths) return tl::unexpected(paths.error());
  std::map<std::string, FoundModel> found;
  for (const fs::path& path : *paths) {
    const std::string file_name = path.filename().string();
    if (!IsModelFile(path) || IsProjector(file_name)) continue;
    FileName split = Split(file_name);
    if (split.part != 1) continue;
    found.emplace(split.name, FoundModel{split.name, path.string(), ""});
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

}  // namespace cairn
