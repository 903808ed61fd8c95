// What a chat template can and wants, found out once by rendering small conversations
// (chat/template/caps_probe.h).

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_CAPS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_CAPS_H_

#include <cstdint>

namespace cairn {

// What a template does with a system message that is not the first one.
enum class LateSystem : uint8_t {
  kInPlace,     // shows it where it stands
  kRefused,     // raises
  kDropped,     // leaves its text out
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

struct TemplateCaps {
  // The system text shows in front of the first user message, also when the conversation goes on.
  // Where it does not, it is put in front of the first user message as a part of it.
  bool system_role = true;
  // The text of a leading developer message shows. Where it does not, developers are systems.
  bool developer_role = false;
  // For all but kInPlace the text joins the turn beside it (chat/template/template_turns.h).
  LateSystem late_system = LateSystem::kInPlace;
  // A user message right behind a tool's result is refused.
  bool no_user_after_tool = false;
  // Ids of calls must have nine letters and digits.
  bool short_call_ids = false;
  // Two calls in one message are refused.
  bool single_calls = false;
  // A message with calls, text and reasoning is refused.
  bool no_text_beside_thinking = false;
  // An assistant message without text and calls is refused.
  bool no_empty_answers = false;
  // The names of offered tools, calls and tool answers show.
  bool tools = false;
  // The tools stand in front of the last user message, so each one moves them
  // (chat/spans/tools_block.h).
  bool tools_move = false;
  bool tool_calls = false;
  bool tool_responses = false;
  // Call arguments must be objects; else they stay the text that the model wrote.
  bool object_arguments = false;
  // A message with calls and no text has null content; else an empty one.
  bool null_content = false;
  // Content must be a list of typed parts.
  bool typed_content = false;
  // An assistant's reasoning is called `thinking`, not `reasoning_content`.
  bool thinking_field = false;

  // Whether the template has a form of its own for any of tools, calls and results. Where it has
  // none, all of them are text in the form of Hermes (chat/template/template_turns.h).
  bool knows_tools() const { return tools || tool_calls || tool_responses; }
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_CAPS_H_
