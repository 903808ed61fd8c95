#include "cmd/model/model_template.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fs.h"
#include "base/gguf/gguf_name.h"
#include "base/json.h"
#include "chat/template/template_source.h"
#include "cmd/model/template_report.h"
#include "engine/llama/gguf/template_texts.h"

namespace cairn {
namespace {

constexpr std::string_view kConfigName = "tokenizer_config.json";
constexpr std::string_view kConfigMember = "chat_template";
constexpr std::string_view kToolTemplate = "tool_use";

tl::unexpected<Error> NoTemplate(const std::string& path) {
  return Fail(ErrorCode::kNotFound, "'" + path + "' has no chat template");
}

std::string Both(std::string_view usual, std::string_view with_tools) {
  if (usual.empty() || with_tools.empty()) return std::string(usual.empty() ? with_tools : usual);
  return WithToolTemplate(usual, with_tools);
}

Result<TemplateFile> OfGguf(const std::string& path) {
  auto texts = ReadTemplateTexts(path);
  if (!texts) return tl::unexpected(texts.error());
  TemplateFile file = {.path = path,
                       .source = Both(texts->usual, texts->with_tools),
                       .bos_text = std::move(texts->bos_text),
                       .eos_text = std::move(texts->eos_text)};
  if (file.source.empty()) return NoTemplate(path);
  return file;
}

std::string TextIn(const Json& json, std::string_view member) {
  if (!json.is_object()) return "";
  const auto found = json.find(std::string(member));
  return found != json.end() && found->is_string() ? found->text() : "";
}

// A token is a text, or an object with the text as its content.
std::string TokenIn(const Json& config, std::string_view member) {
  const auto found = config.find(std::string(member));
  if (found == config.end()) return "";
  return found->is_string() ? found->text() : TextIn(*found, "content");
}

// The template of a tokenizer_config.json: a text, or a list of named ones.
std::string SourceIn(const Json& config) {
  const auto found = config.find(std::string(kConfigMember));
  if (found == config.end()) return "";
  if (found->is_string()) return found->text();
  std::string usual;
  std::string with_tools;
  for (size_t i = 0; found->is_array() && i < found->size(); ++i) {
    const std::string name = TextIn((*found)[i], "name");
    if (name == "default") usual = TextIn((*found)[i], "template");
    if (name == kToolTemplate) with_tools = TextIn((*found)[i], "template");
  }
  return Both(usual, with_tools);
}

Result<TemplateFile> OfConfig(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return tl::unexpected(text.error());
  const Json config = Json::parse(*text, nullptr, false);
  if (!config.is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "'" + path + "' is no JSON object");
  }
  return TemplateFile{.path = path,
                      .source = SourceIn(config),
                      .bos_text = TokenIn(config, "bos_token"),
                      .eos_text = TokenIn(config, "eos_token")};
}

bool IsTemplateName(const std::filesystem::path& path) {
  return path.extension() == ".jinja" || path.extension() == ".jinja2" || path.extension() == ".j2";
}

Result<TemplateFile> OfFile(const std::string& path) {
  if (ParseGgufName(path)) return OfGguf(path);
  if (std::filesystem::path(path).extension() == ".json") {
    auto config = OfConfig(path);
    if (config && config->source.empty()) return NoTemplate(path);
    return config;
  }
  auto source = ReadFile(path);
  if (!source) return tl::unexpected(source.error());
  return TemplateFile{.path = path, .source = *std::move(source)};
}

bool MayHaveTemplate(const std::filesystem::path& path) {
  if (const auto gguf = ParseGgufName(path.string())) return gguf->part == 1;
  return IsTemplateName(path) || path.filename() == kConfigName;
}

}  // namespace

Result<std::vector<TemplateFile>> FindTemplateFiles(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    auto file = OfFile(path);
    if (!file) return tl::unexpected(file.error());
    return std::vector<TemplateFile>{*std::move(file)};
  }
  std::vector<std::string> paths;
  for (auto entry = std::filesystem::directory_iterator(path, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (MayHaveTemplate(entry->path())) paths.push_back(entry->path().string());
  }
  if (error) return Fail(ErrorCode::kNotFound, "'" + path + "' cannot be read");
  std::sort(paths.begin(), paths.end());
  // A template in a file of its own does not say its tokens; the configuration beside it does.
  const auto config = OfConfig((std::filesystem::path(path) / kConfigName).string());
  std::vector<TemplateFile> files;
  for (const std::string& name : paths) {
    auto file = OfFile(name);
    if (!file) continue;
    if (IsTemplateName(name) && config) {
      file->bos_text = config->bos_text;
      file->eos_text = config->eos_text;
    }
    files.push_back(*std::move(file));
  }
  if (files.empty()) return NoTemplate(path);
  return files;
}

CLI::App* AddModelTemplate(CLI::App* model, ModelTemplateOptions* options) {
  CLI::App* const command = model->add_subcommand(
      "template", "Print what is learned of a chat template, and what of it is not supported");
  command
      ->add_option("file", options->path,
                   "File of Jinja, GGUF file, tokenizer_config.json, or a folder with some of them")
      ->required();
  command->add_flag("--json", options->json, "Print the result as a JSON array");
  return command;
}

int RunModelTemplate(const ModelTemplateOptions& options) {
  const auto files = FindTemplateFiles(options.path);
  if (!files) {
    std::fprintf(stderr, "cairn model template: %s\n", files.error().message.c_str());
    return 1;
  }
  bool all_read = true;
  Json reports = Json::array();
  for (const TemplateFile& file : *files) {
    Json report = ReportOnTemplate(file);
    all_read = all_read && !report.contains("error");
    if (!options.json) std::fputs(TextOfReport(report).c_str(), stdout);
    reports.push_back(std::move(report));
  }
  if (options.json) std::printf("%s\n", ToText(reports, 2).c_str());
  return all_read ? 0 : 1;
}

}  // namespace cairn
