#include "chat/template/chat_template.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/learn/learn_calls.h"
#include "chat/template/caps_probe.h"
#include "chat/template/template_functions.h"
#include "chat/template/template_input.h"
#include "chat/template/tools_block.h"
#include "chat/text/call_arguments.h"
#include "jinja/template.h"

namespace cairn {
namespace {

// One rendering may take so many steps. Real templates need some hundred steps for a message, and a
// hundred for a value in a tool's schema. Ten million take less than a second.
// Kimi K2's templates append to lists, which jinja2's immutable sandbox refuses; other servers run
// them.
constexpr jinja::Limits kTemplateLimits = {.steps_max = 10'000'000, .append_to_lists = true};
constexpr uint64_t kStepsPerMessageMax = 10'000;

struct RenderInput {
  std::vector<TemplateMessage> messages = {};
  Tools tools = {};
  Json kwargs = Json::object();
  bool add_generation_prompt = false;
  int64_t now_unix_s = 0;
};

// Variables that templates of models print as today's date; without them Llama 3.1 says that it is
// July 2024. llama-server sets the same. A prompt changes with the day.
constexpr std::array<std::pair<const char*, const char*>, 2> kDates = {
    {{"date_string", "%d %b %Y"}, {"datetime", "%b %d %Y"}}};

// Makes objects of the arguments that are none. Returns whether there were any.
bool MendArguments(Conversation* conversation) {
  bool mended = false;
  for (Message& message : conversation->messages) {
    for (ToolCall& call : message.tool_calls) {
      if (!AreBrokenArguments(call.arguments)) continue;
      call.arguments = ToText(ArgumentsObject(call.arguments));
      mended = true;
    }
  }
  return mended;
}

// Gives every tool a description and parameters. Returns whether one had none.
bool MendTools(Conversation* conversation) {
  bool mended = false;
  const auto mend = [&mended](Json* tools) {
    for (Json& tool : *tools) {
      if (!tool.is_object() || !tool.contains("function")) continue;
      Json& function = tool["function"];
      if (!function.is_object()) continue;
      mended = mended || !function.contains("description") || !function.contains("parameters");
      if (!function.contains("description")) function["description"] = "";
      if (!function.contains("parameters")) {
        function["parameters"] = {{"type", "object"}, {"properties", Json::object()}};
      }
    }
  };
  if (!conversation->tools.empty()) conversation->tools = conversation->tools.Changed(mend);
  return mended;
}

}  // namespace

// The parsed template and what every rendering of it shares.
class ChatTemplate::Program {
 public:
  Program(std::unique_ptr<jinja::Template> parsed, std::string bos_text, std::string eos_text)
      : parsed_(std::move(parsed)),
        bos_text_(std::move(bos_text)),
        eos_text_(std::move(eos_text)) {}

  Result<RenderedText> Run(const RenderInput& input) const {
    std::string refusal;
    TextSources sources;
    auto rendered = parsed_->Render(
        [&](jinja::Input* variables) { Define(input, variables, &refusal, &sources); },
        kStepsPerMessageMax * input.messages.size());
    if (rendered) {
      return RenderedText{.text = std::move(rendered->text),
                          .runs = std::move(rendered->runs),
                          .sources = sources.Take(),
                          .asked_at = rendered->watched_at};
    }
    if (!refusal.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "the chat template refuses this conversation: " + refusal);
    }
    return Fail(rendered.error().code,
                "the chat template cannot render this conversation: " + rendered.error().message);
  }

  // With the tools where the first user message has them, wherever the template moves them later.
  Result<RenderedText> RunToolsInFront(const RenderInput& input) const {
    RenderInput bare = input;
    bare.tools = Tools();
    RenderInput first = input;
    const auto asks = [](const TemplateMessage& message) { return message.json["role"] == "user"; };
    const auto question = std::find_if(first.messages.begin(), first.messages.end(), asks);
    if (question != first.messages.end()) first.messages.erase(question + 1, first.messages.end());
    RenderInput first_bare = first;
    first_bare.tools = Tools();
    auto with_tools = Run(input);
    auto without = Run(bare);
    auto first_with_tools = Run(first);
    auto first_without = Run(first_bare);
    if (!with_tools || !without || !first_with_tools || !first_without) return with_tools;
    const auto block = ToolsInFront({.with_tools = with_tools->text,
                                     .bare = without->text,
                                     .first_with_tools = first_with_tools->text,
                                     .first_bare = first_without->text});
    if (!block) return with_tools;
    InsertText(*first_with_tools, *block, block->begin, &*without);
    return without;
  }

 private:
  void Define(const RenderInput& input, jinja::Input* variables, std::string* refusal,
              TextSources* sources) const {
    jinja::Heap* const heap = variables->heap();
    const auto value = [&](const Json& json, TextField field) {
      return ValueWithSource(heap, json, {field}, sources);
    };
    for (const auto& [name, format] : kDates) {
      variables->Define(name, jinja::MakeText(heap, TimeText(format, input.now_unix_s)));
    }
    // A client may set another date. Its values come before the rest, so that none can stand in for
    // one of ours.
    for (const auto& [name, set] : input.kwargs.items()) {
      variables->Define(name, value(set, TextField::kKwargs));
    }
    std::vector<jinja::Value> messages;
    messages.reserve(input.messages.size());
    for (const TemplateMessage& message : input.messages) {
      messages.push_back(ValueOfMessage(heap, message, sources));
    }
    variables->Define("messages", jinja::MakeList(heap, std::move(messages)));
    variables->Define("tools", input.tools.empty() ? jinja::Value::None()
                                                   : value(input.tools.list(), TextField::kTools));
    // Templates from before there was `tools` have the tools' JSON in a variable of this name
    // (firefunction), and fail without it.
    variables->Define("functions", value(input.tools.empty() ? "[]" : ToText(input.tools.list(), 4),
                                         TextField::kTools));
    variables->Define("add_generation_prompt", jinja::Value::Bool(input.add_generation_prompt));
    variables->Watch("add_generation_prompt");
    variables->Define("bos_token", value(bos_text_, TextField::kOwn));
    variables->Define("eos_token", value(eos_text_, TextField::kOwn));
    DefineTemplateFunctions(input.now_unix_s, refusal, variables);
  }

  const std::unique_ptr<jinja::Template> parsed_;
  const std::string bos_text_;
  const std::string eos_text_;
};

ChatTemplate::ChatTemplate(std::string source, std::unique_ptr<Program> program,
                           std::string unreadable)
    : source_(std::move(source)),
      program_(std::move(program)),
      unreadable_(std::move(unreadable)),
      caps_([this] {
        if (program_ == nullptr) return TemplateCaps();
        const auto render = [this](const Json& messages, const Tools& tools, const Json& kwargs) {
          RenderInput input{.tools = tools, .kwargs = kwargs, .now_unix_s = 1};
          for (const Json& message : messages) input.messages.push_back({.json = message});
          Result<RenderedText> rendered = program_->Run(input);
          return rendered ? std::move(rendered->text) : std::string();
        };
        return FindTemplateCaps(source_, render);
      }()),
      reasoning_tags_(LearnReasoningTags(
          source_, [this](const Conversation& conversation, bool add_generation_prompt) {
            return Render(conversation, add_generation_prompt);
          })) {}

ChatTemplate::~ChatTemplate() = default;

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::Parse(std::string source, std::string bos_text,
                                                          std::string eos_text) {
  auto parsed = jinja::Template::Parse(source, kTemplateLimits, TemplateFilters());
  if (!parsed) {
    return Fail(parsed.error().code, "the chat template cannot be read: " + parsed.error().message);
  }
  auto program =
      std::make_unique<Program>(*std::move(parsed), std::move(bos_text), std::move(eos_text));
  std::unique_ptr<ChatTemplate> made(new ChatTemplate(std::move(source), std::move(program)));
  made->learned_calls_ =
      LearnCalls([&made](const Conversation& conversation, bool add_generation_prompt) {
        return made->Render(conversation, add_generation_prompt);
      });
  return made;
}

std::unique_ptr<ChatTemplate> ChatTemplate::Unreadable(std::string source, std::string why) {
  return std::unique_ptr<ChatTemplate>(
      new ChatTemplate(std::move(source), nullptr, std::move(why)));
}

Result<std::string> ChatTemplate::Render(const Conversation& conversation,
                                         bool add_generation_prompt) const {
  Result<RenderedText> rendered = RenderWithOrigins(conversation, add_generation_prompt);
  if (!rendered) return tl::unexpected(rendered.error());
  return std::move(rendered->text);
}

Result<RenderedText> ChatTemplate::RenderWithOrigins(const Conversation& conversation,
                                                     bool add_generation_prompt) const {
  if (program_ == nullptr) return Fail(ErrorCode::kUnsupported, unreadable_);
  const auto render = [&](const Conversation& shown) -> Result<RenderedText> {
    auto messages = TemplateMessages(shown, caps_);
    if (!messages) return tl::unexpected(messages.error());
    Result<Json> kwargs = TemplateKwargs(shown);
    if (!kwargs) return tl::unexpected(kwargs.error());
    const RenderInput input{.messages = *std::move(messages),
                            .tools = shown.tools,
                            .kwargs = *std::move(kwargs),
                            .add_generation_prompt = add_generation_prompt,
                            .now_unix_s = shown.now_unix_s};
    if (caps_.tools_move && !input.tools.empty()) return program_->RunToolsInFront(input);
    return program_->Run(input);
  };
  try {
    Result<RenderedText> text = render(conversation);
    if (text) return text;
    // It may need what a client need not send, or parse the arguments itself, which must not fail
    // for those of a call that was cut.
    Conversation mended = conversation;
    const bool has_new_tools = MendTools(&mended);
    const bool has_new_arguments = !caps_.object_arguments && MendArguments(&mended);
    if (!has_new_tools && !has_new_arguments) return text;
    Result<RenderedText> again = render(mended);
    return again ? again : text;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInternal, std::string("rendering the prompt failed: ") + error.what());
  }
}

}  // namespace cairn
