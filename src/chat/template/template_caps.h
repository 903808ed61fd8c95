// The abilities and requirements of a chat template, found once by rendering small conversations
// (chat/template/caps_probe.h).

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_CAPS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_CAPS_H_

#include <cstdint>

#include "chat/text/text_parts.h"

namespace cairn {

// The treatment of a system message that is not the first message.
enum class LateSystem : uint8_t {
  kInPlace,     // shows it in its place
  kRefused,     // raises
  kDropped,     // omits its text
  kHoisted,     // shows it before the messages that precede it
  kStrictTurns  // raises unless user and assistant take turns
};

// "in_place", "refused", "dropped", "hoisted", "strict_turns".
constexpr const char* LateSystemName(LateSystem late_system) {
  switch (late_system) {
    case LateSystem::kInPlace:
      return "in_place";
    case LateSystem::kRefused:
      return "refused";
    case LateSystem::kDropped:
      return "dropped";
    case LateSystem::kHoisted:
      return "hoisted";
    case LateSystem::kStrictTurns:
      return "strict_turns";
  }
  return "";
}

// Where a template looks for an assistant's reasoning.
enum class ReasoningField : uint8_t {
  kReasoningContent,  // the message's `reasoning_content`
  kThinking,          // the message's `thinking`
  kThinkingPart       // the first part of its content: {"type": "thinking", "thinking": …}
};

struct TemplateCaps {
  // The system text is shown before the first user message, also when the conversation continues.
  // If false, it is prepended to the first user message.
  bool system_role = true;
  // The text of a leading developer message is shown. If false, developer messages become system
  // messages.
  bool developer_role = false;
  // For all values but kInPlace the text joins an adjacent turn (chat/template/template_turns.h).
  LateSystem late_system = LateSystem::kInPlace;
  // A user message directly after a tool's result is refused.
  bool no_user_after_tool = false;
  // Ids of calls must have nine letters and digits.
  bool short_call_ids = false;
  // Two calls in one message are refused.
  bool single_calls = false;
  // A message with calls, text and reasoning is refused.
  bool no_text_beside_thinking = false;
  // An assistant message without text and calls is refused.
  bool no_empty_answers = false;
  // The names of offered tools, calls and tool results are shown.
  bool tools = false;
  // The tools are shown before the last user message, so each new one moves them
  // (chat/template/tools_block.h).
  bool tools_move = false;
  bool tool_calls = false;
  bool tool_responses = false;
  // Call arguments must be objects; otherwise they stay the text that the model wrote.
  bool object_arguments = false;
  // A message with calls and no text must have null content; otherwise it has an empty text.
  bool null_content = false;
  // Content must be a list of typed parts.
  bool typed_content = false;
  // Results belong to the message of their calls, as `tool_responses`: [{"name", "response"}, …],
  // and the text that answers them too. A message of role "tool" is nothing to the template.
  bool results_beside_calls = false;
  PartSeparators part_separators = {};
  ReasoningField reasoning_field = ReasoningField::kReasoningContent;

  // Whether the template has its own notation for any of tools, calls and results. If it has none,
  // all of them become text in the notation of Hermes (chat/template/template_turns.h).
  bool knows_tools() const { return tools || tool_calls || tool_responses; }
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_CAPS_H_
