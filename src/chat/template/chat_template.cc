#include "chat/template/chat_template.h"

#include <array>
#include <ctime>
#include <exception>
#include <minja/minja.hpp>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/learn/learn_calls.h"
#include "chat/parse/call_arguments.h"
#include "chat/spans/tools_block.h"
#include "chat/template/caps_probe.h"
#include "chat/template/template_functions.h"
#include "chat/template/template_input.h"
#include "chat/template/template_source.h"

namespace cairn {
namespace {

using minja::ArgumentsValue;
using minja::Value;
using ContextPtr = std::shared_ptr<minja::Context>;

// Look-ups of outer variables that one rendering may take; real templates need a few dozen for a
// message, and as many for a value in a tool's schema. A million take about a second.
constexpr size_t kLookupsMax = 1'000'000;
constexpr size_t kLookupsPerMessageMax = 1'000;

// The variables of one rendering. Counts look-ups, so that a template that compares all messages
// with all others ends with an error instead of minutes later.
class RootContext final : public minja::Context {
 public:
  explicit RootContext(size_t messages)
      : Context(Value::object(), Context::builtins()),
        lookups_max_(kLookupsMax + messages * kLookupsPerMessageMax) {}

  bool contains(const Value& key) override {
    if (++lookups_ > lookups_max_) {
      throw std::runtime_error("it takes too many steps for a conversation of this length");
    }
    return Context::contains(key);
  }

  // A macro holds the context that holds it; without this no rendering would free its memory.
  void BreakCycles() {
    for (const Value& key : values_.keys()) values_.set(key, Value());
  }

 private:
  const size_t lookups_max_;
  size_t lookups_ = 0;
};

struct RenderInput {
  Json messages = Json::array();
  Tools tools = {};
  Json kwargs = Json::object();
  bool add_generation_prompt = false;
  int64_t now_unix_s = 0;
};

std::string TimeText(const std::string& format, int64_t now_unix_s) {
  const std::time_t now =
      now_unix_s != 0 ? static_cast<std::time_t>(now_unix_s) : std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 256> text{};
  const size_t size = std::strftime(text.data(), text.size(), format.c_str(), &local);
  return {text.data(), size};
}

Value StrftimeNow(ArgumentsValue& args, int64_t now_unix_s) {
  args.expectArgs("strftime_now", {1, 1}, {0, 0});
  return TimeText(args.args[0].to_str(), now_unix_s);
}

// Variables that templates of models print as today's date; without them Llama 3.1 says that it is
// July 2024. llama-server sets the same. A prompt changes with the day.
constexpr std::array<std::pair<const char*, const char*>, 2> kDates = {
    {{"date_string", "%d %b %Y"}, {"datetime", "%b %d %Y"}}};

// minja's complaints carry an excerpt of the template for every level of nesting.
std::string WithoutExcerpts(const std::string& complaint, bool keep_place) {
  const size_t place = complaint.find(" at row ");
  if (place == std::string::npos) return complaint;
  return complaint.substr(0, keep_place ? complaint.find(":\n", place) : place);
}

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

}  // namespace

// The parsed template and what every rendering of it shares.
class ChatTemplate::Program {
 public:
  Program(std::shared_ptr<minja::TemplateNode> root, std::string bos_text, std::string eos_text)
      : root_(std::move(root)), bos_text_(std::move(bos_text)), eos_text_(std::move(eos_text)) {}

  Result<std::string> Run(const RenderInput& input) const {
    std::string refusal;
    try {
      const auto context = std::make_shared<RootContext>(input.messages.size());
      struct Cleanup {
        RootContext& context;
        ~Cleanup() { context.BreakCycles(); }
      } cleanup{*context};
      Define(input, *context, &refusal);
      std::ostringstream out;
      root_->render(out, context);
      return std::move(out).str();
    } catch (const std::bad_alloc&) {
      throw;  // not the conversation's fault
    } catch (const std::exception& error) {
      if (!refusal.empty()) {
        return Fail(ErrorCode::kInvalidArgument,
                    "the chat template refuses this conversation: " + refusal);
      }
      return Fail(ErrorCode::kInvalidArgument,
                  "the chat template cannot render this conversation: " +
                      WithoutExcerpts(error.what(), true));
    } catch (...) {
      return Fail(ErrorCode::kInternal, "the chat template failed for an unknown reason.");
    }
  }

  // With the tools where the first user message has them, wherever the template moves them later.
  Result<std::string> RunToolsInFront(const RenderInput& input) const {
    RenderInput bare = input;
    bare.tools = Tools();
    RenderInput first = input;
    first.messages = Json::array();
    for (const Json& message : input.messages) {
      first.messages.push_back(message);
      if (message["role"] == "user") break;
    }
    RenderInput first_bare = first;
    first_bare.tools = Tools();
    auto with_tools = Run(input);
    auto without = Run(bare);
    auto first_with_tools = Run(first);
    auto first_without = Run(first_bare);
    if (!with_tools || !without || !first_with_tools || !first_without) return with_tools;
    return WithToolsInFront({.with_tools = *std::move(with_tools),
                             .bare = *std::move(without),
                             .first_with_tools = *std::move(first_with_tools),
                             .first_bare = *std::move(first_without)});
  }

 private:
  void Define(const RenderInput& input, RootContext& context, std::string* refusal) const {
    for (const auto& [name, format] : kDates) {
      context.set(name, Value(TimeText(format, input.now_unix_s)));
    }
    // A client may set another date. Its values come before the rest, so that none can stand in for
    // one of ours.
    for (const auto& [name, value] : input.kwargs.items()) context.set(name, TemplateValue(value));
    context.set("messages", TemplateValue(input.messages));
    context.set("tools", input.tools.empty() ? Value() : TemplateValue(input.tools.list()));
    context.set("add_generation_prompt", Value(input.add_generation_prompt));
    context.set("bos_token", Value(bos_text_));
    context.set("eos_token", Value(eos_text_));
    DefineTemplateFunctions(&context);
    context.set("strftime_now",
                Value::callable([now = input.now_unix_s](const ContextPtr&, ArgumentsValue& args) {
                  return StrftimeNow(args, now);
                }));
    context.set("raise_exception",
                Value::callable([refusal](const ContextPtr&, ArgumentsValue& args) -> Value {
                  *refusal = args.args.empty() ? "no reason given" : args.args[0].to_str();
                  throw std::runtime_error(*refusal);
                }));
  }

  const std::shared_ptr<minja::TemplateNode> root_;
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
          RenderInput input{.messages = messages, .tools = tools, .kwargs = kwargs};
          input.now_unix_s = 1;
          return program_->Run(input).value_or("");
        };
        return FindTemplateCaps(source_, render);
      }()),
      reasoning_tags_(LearnReasoningTags(*this)) {}

ChatTemplate::~ChatTemplate() = default;

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::Parse(std::string source, std::string bos_text,
                                                          std::string eos_text) {
  const Result<std::string> prepared = PrepareTemplateSource(source);
  if (!prepared) return tl::unexpected(prepared.error());
  try {
    // The settings with which Hugging Face renders chat templates, and so with which all are made.
    const minja::Options options{
        .trim_blocks = true, .lstrip_blocks = true, .keep_trailing_newline = false};
    auto program = std::make_unique<Program>(minja::Parser::parse(*prepared, options),
                                             std::move(bos_text), std::move(eos_text));
    std::unique_ptr<ChatTemplate> made(new ChatTemplate(std::move(source), std::move(program)));
    made->learned_calls_ = LearnCalls(*made);
    return made;
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInvalidArgument,
                "the chat template cannot be read: " + WithoutExcerpts(error.what(), true));
  } catch (...) {
    return Fail(ErrorCode::kInternal, "the chat template cannot be read.");
  }
}

std::unique_ptr<ChatTemplate> ChatTemplate::Unreadable(std::string source, std::string why) {
  return std::unique_ptr<ChatTemplate>(
      new ChatTemplate(std::move(source), nullptr, std::move(why)));
}

Result<std::string> ChatTemplate::Render(const Conversation& conversation,
                                         bool add_generation_prompt) const {
  if (program_ == nullptr) return Fail(ErrorCode::kUnsupported, unreadable_);
  const auto render = [&](const Conversation& shown) -> Result<std::string> {
    Result<Json> messages = TemplateMessages(shown, caps_);
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
    Result<std::string> text = render(conversation);
    if (text || caps_.object_arguments) return text;
    // It may parse the arguments itself, which must not fail for those of a call that was cut.
    Conversation mended = conversation;
    if (!MendArguments(&mended)) return text;
    Result<std::string> again = render(mended);
    return again ? again : text;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kInternal, std::string("rendering the prompt failed: ") + error.what());
  }
}

}  // namespace cairn
