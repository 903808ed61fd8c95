// Predicts the next request of a conversation: the answer's message, as clients send it back, and
// one more message. The text of that message is unknown, so a placeholder stands for it.
//
//   asked      system, user
//   expected   system, user, assistant (with its reasoning, or without), user "…"
//                                                                        ^ up to here it is known
//
// Some clients send reasoning back and some do not, and templates strip it only before a new query,
// so there may be two candidates. If earlier turns of the conversation show what the client does,
// there is one.
//
// Pure functions; any thread.

#ifndef CAIRN_API_PROMPT_NEXT_TURN_H_
#define CAIRN_API_PROMPT_NEXT_TURN_H_

#include <string_view>
#include <vector>

#include "chat/parse/answer_parser.h"
#include "chat/text/message.h"

namespace cairn {

// Returns the answer's message as the APIs send it.
Message AnswerMessage(const AnswerFormat& format, std::string_view text);

// Returns the likely next conversations: `asked`, the answer, and placeholders for the next
// messages, which are a user's message, or one result for each of the answer's calls. There are one
// or two, most likely first; they differ in the answer's reasoning. The placeholders follow
// `asked.messages.size() + 1` messages.
std::vector<Conversation> ExpectedConversations(const Conversation& asked, const Message& answer);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_NEXT_TURN_H_
