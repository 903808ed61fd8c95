// How a conversation comes back once its answer has been given: with the answer's message, as a
// client sends it, and one more. What that one says is not known, so a stand-in takes its place.
//
//   asked      system, user
//   expected   system, user, assistant (with its reasoning, or without), user "…"
//                                                                        ^ up to here it is known
//
// Some clients send reasoning back and some do not, and templates strip it only in front of a new
// query, so there may be two of them. A client that has shown what it does, earlier in the same
// conversation, is taken at its word.
//
// Pure functions; any thread.

#ifndef CAIRN_API_PROMPT_NEXT_TURN_H_
#define CAIRN_API_PROMPT_NEXT_TURN_H_

#include <string_view>
#include <vector>

#include "chat/message.h"
#include "chat/parse/answer_parser.h"

namespace cairn {

// The answer's message, as the front ends hand it out.
Message AnswerMessage(const AnswerFormat& format, std::string_view text);

// `asked`, the answer, and what stands for the next message: a user's, or one result for each of
// the answer's calls. Likeliest first; one or two, and they differ in the answer's reasoning. The
// stand-ins begin behind `asked.messages.size() + 1` messages.
std::vector<Conversation> ExpectedConversations(const Conversation& asked, const Message& answer);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_NEXT_TURN_H_
