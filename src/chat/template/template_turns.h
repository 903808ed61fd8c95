// TurnsForTemplate: a conversation in the order and the roles that a chat template can show.
//
// Agents send system messages in mid-conversation, several leading ones, two user messages in a
// row, and tool calls to models whose templates know none. Many templates refuse these, drop their
// text, or hoist it to the front, where it changes the whole prompt. TemplateCaps says what a
// template does; for whatever it does not show in place, the text joins the turn beside it:
//
//   client     system | user | system   | assistant | tool | system   | assistant | system | user
//   template   system | user + reminder | assistant | tool + reminder | assistant | reminder + user
//
// A reminder is the system text in <system-reminder> tags. It joins the user or tool message right
// before it, else the user message right behind it, else it is a user message of its own. Turns
// that stand before it render as they did without it, so a prefix cache keeps them.
//
// Pure functions; any thread.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_TURNS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_TURNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"
#include "chat/template/template_caps.h"

namespace cairn {

struct TemplateTurn {
  Message message;
  size_t index = 0;  // in the conversation, of the message that this turn began as
};

// The turns of `conversation` for a template with `caps`. Leading system and developer messages
// become one.
std::vector<TemplateTurn> TurnsForTemplate(const Conversation& conversation,
                                           const TemplateCaps& caps);

// The tags that a system text is wrapped in where it joins another turn.
std::string SystemReminder(std::string_view system_text);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_TURNS_H_
