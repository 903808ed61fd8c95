// TurnsForTemplate: brings a conversation into an order and roles that a chat template can show.
//
// Agents send system messages in mid-conversation, several leading ones, two user messages in a
// row, and tool calls to models whose templates support none. Many templates refuse these, drop
// their text, or move it to the front, where it changes the whole prompt. TemplateCaps says what a
// template does; text that it does not show in place joins an adjacent turn:
//
//   client     system | user | system   | assistant | tool | system   | assistant | system | user
//   template   system | user + reminder | assistant | tool + reminder | assistant | reminder + user
//
// A reminder is the system text in <system-reminder> tags. It joins the user or tool message
// directly before it; if there is none, the user message directly after it; otherwise it becomes a
// user message of its own. The turns before it render as they did without it, so a prefix cache
// keeps them.
//
// Pure functions; any thread.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_TURNS_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_TURNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chat/template/rendered_text.h"
#include "chat/template/template_caps.h"
#include "chat/text/message.h"

namespace cairn {

struct TemplateTurn {
  Message message;
  size_t index = 0;  // index in the conversation of the message that this turn began with
  // Which messages the texts of `message` are from, and of each of its calls.
  std::vector<TextPiece> content = {};
  std::vector<TextPiece> reasoning = {};
  std::vector<size_t> callers = {};
};

// Returns the turns of `conversation` for a template with `caps`. Leading system and developer
// messages become one.
std::vector<TemplateTurn> TurnsForTemplate(const Conversation& conversation,
                                           const TemplateCaps& caps);

// Returns a system text in the tags that it gets when it joins another turn.
std::string SystemReminder(std::string_view system_text);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_TURNS_H_
