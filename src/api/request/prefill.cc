#include "api/request/prefill.h"

#include "base/text.h"
#include "chat/parse/reasoning.h"

namespace cairn {
namespace {

bool CanBeContinued(const Message& message) {
  return message.role == Role::kAssistant && message.tool_calls.empty();
}

bool IsEmpty(const Message& message) {
  return message.content.empty() && message.reasoning.empty();
}

}  // namespace

ApiResult<PromptEnd> ParsePromptEnd(const Json& body, const std::vector<Message>& messages) {
  constexpr const char* kContinue = "continue_final_message";
  FieldReader fields(body, "");
  bool continues = false;
  bool opens_answer = true;
  fields.Bool(kContinue, &continues);
  fields.Bool("add_generation_prompt", &opens_answer);
  const bool asks_for_both = fields.Find("add_generation_prompt") != nullptr && opens_answer;
  if (continues && asks_for_both) {
    fields.Fail("add_generation_prompt", "false or absent with 'continue_final_message'");
  }
  if (continues && !CanBeContinued(messages.back())) {
    fields.Fail(kContinue,
                "false or absent: the last message is not the assistant's or calls tools, so there "
                "is no message to continue");
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  if (continues) return IsEmpty(messages.back()) ? PromptEnd::kUsual : PromptEnd::kOpenMessage;
  if (opens_answer || CanBeContinued(messages.back())) return PromptEnd::kUsual;
  return PromptEnd::kLastMessage;
}

void SettlePromptEnd(bool prefills, Conversation* conversation) {
  if (conversation->end != PromptEnd::kUsual) return;
  conversation->end = PromptEnd::kGenerationPrompt;
  if (!prefills || conversation->messages.empty()) return;
  const Message& last = conversation->messages.back();
  if (!CanBeContinued(last)) return;
  if (!IsEmpty(last)) {
    conversation->end = PromptEnd::kOpenMessage;
  } else if (conversation->messages.size() > 1) {
    conversation->messages.pop_back();
  }
}

bool EndsReasoning(const ReasoningTags& tags, std::string_view generation_prompt,
                   std::string_view prefilled) {
  if (prefilled.empty()) return Trimmed(generation_prompt).ends_with(tags.close);
  const size_t text = prefilled.find_first_not_of(" \t\r\n");
  const bool opened =
      OpensReasoning(tags, generation_prompt) ||
      (text != std::string_view::npos && prefilled.substr(text).starts_with(tags.open));
  return !opened || prefilled.find(tags.close) != std::string_view::npos;
}

}  // namespace cairn
