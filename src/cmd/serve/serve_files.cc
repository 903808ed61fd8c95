#include "cmd/serve/serve_files.h"

#include <string_view>
#include <utility>

#include "base/fs.h"
#include "chat/template/builtin_templates.h"
#include "chat/template/template_source.h"

namespace cairn {
namespace {

Result<std::string> ReadTemplateFile(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--chat-template-file " + text.error().message);
  return text;
}

bool ChoosesTemplate(const ServeOptions& options) {
  return !options.chat_template.empty() || !options.chat_template_file.empty();
}

bool IsTemplateText(const std::string& text) {
  return text.find('{') != std::string::npos;
}

// libllama has a name in place of a text for some models whose file has no template.
std::string OwnTemplate(const ModelInfo& info) {
  const auto named = BuiltinTemplate(info.chat_template);
  return named ? std::string(*named) : info.chat_template;
}

// The text of the chat template of the flags, or else of the model.
Result<std::string> TemplateSource(const ServeOptions& options, const ModelInfo& info) {
  if (!options.chat_template_file.empty()) return ReadTemplateFile(options.chat_template_file);
  if (IsTemplateText(options.chat_template)) return options.chat_template;
  if (options.chat_template.empty() && !info.chat_template.empty()) {
    return info.tool_template.empty() ? OwnTemplate(info)
                                      : WithToolTemplate(OwnTemplate(info), info.tool_template);
  }
  const auto builtin = BuiltinTemplate(
      options.chat_template.empty() ? kDefaultTemplate : std::string_view(options.chat_template));
  if (!builtin) return tl::unexpected(builtin.error());
  return std::string(*builtin);
}

}  // namespace

size_t SlotsOf(const ServeOptions& options) {
  if (options.slots > 0) return static_cast<size_t>(options.slots);
  return options.reuse == "exact" ? 1 : kUsualSlots;
}

bool UnifiedOf(const ServeOptions& options) {
  if (options.kv_unified) return *options.kv_unified;
  return options.reuse != "exact" && options.slots <= 1;
}

Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path) {
  if (path.empty()) return nullptr;
  const auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--script " + text.error().message);
  auto script = AnswerScript::Parse(*text);
  if (!script) return Fail(script.error().code, "--script " + path + ": " + script.error().message);
  return script;
}

Result<std::unique_ptr<ChatTemplate>> LoadTemplate(const ServeOptions& options,
                                                   const ModelInfo& info, const LogSink& log) {
  auto source = TemplateSource(options, info);
  if (!source) return tl::unexpected(source.error());
  auto parsed = ChatTemplate::Parse(*source, info.bos_text, info.eos_text);
  if (!parsed && !ChoosesTemplate(options) && !info.tool_template.empty()) {
    if (log) {
      log(LogLevel::kWarning, "one of the model's two templates is of no use: " +
                                  parsed.error().message + "; the usual one serves tools too");
    }
    source = OwnTemplate(info);
    parsed = ChatTemplate::Parse(*source, info.bos_text, info.eos_text);
  }
  if (parsed) return parsed;
  const std::string& why = parsed.error().message;
  if (ChoosesTemplate(options)) {
    return Fail(parsed.error().code, why + "; give another one with --chat-template");
  }
  if (log) {
    log(LogLevel::kWarning, "the model's own template is of no use: " + why +
                                "; requests with messages are refused until another one is given "
                                "with --chat-template");
  }
  return ChatTemplate::Unreadable(*std::move(source),
                                  why + "; the server needs another one, from --chat-template");
}

}  // namespace cairn
