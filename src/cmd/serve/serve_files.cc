#include "cmd/serve/serve_files.h"

#include <string_view>
#include <utility>

#include "base/read_file.h"
#include "chat/template/builtin_templates.h"

namespace cairn {
namespace {

Result<std::string> ReadTemplateFile(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--chat-template-file " + text.error().message);
  return text;
}

}  // namespace

size_t SlotsOf(const ServeOptions& options) {
  constexpr size_t kUsualSlots = 4;
  if (options.slots > 0) return static_cast<size_t>(options.slots);
  return options.reuse == "exact" ? 1 : kUsualSlots;
}

Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path) {
  if (path.empty()) return nullptr;
  const auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--script " + text.error().message);
  auto script = AnswerScript::Parse(*text);
  if (!script) return Fail(script.error().code, "--script " + path + ": " + script.error().message);
  return script;
}

Result<std::string> TemplateSource(const ServeOptions& options, const ModelInfo& info) {
  if (!options.chat_template_file.empty()) return ReadTemplateFile(options.chat_template_file);
  const bool is_text = options.chat_template.find('{') != std::string::npos;
  if (is_text) return options.chat_template;
  if (options.chat_template.empty() && !info.chat_template.empty()) return info.chat_template;
  const auto builtin = BuiltinTemplate(
      options.chat_template.empty() ? kDefaultTemplate : std::string_view(options.chat_template));
  if (!builtin) return tl::unexpected(builtin.error());
  return std::string(*builtin);
}

}  // namespace cairn
