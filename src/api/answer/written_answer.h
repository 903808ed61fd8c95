// WrittenAnswer: the text that a model under a chat template generates to give a decided answer.
//
// Nothing here knows a family: the template renders the answer, and the parser of answers decides
// which part of that rendering is the answer. So the text parses as `answer` by construction.

#ifndef CAIRN_API_ANSWER_WRITTEN_ANSWER_H_
#define CAIRN_API_ANSWER_WRITTEN_ANSWER_H_

#include <string>

#include "base/result.h"
#include "chat/message.h"
#include "chat/template/chat_template.h"

namespace cairn {

// What follows the generation prompt, up to what closes the message. Of `conversation` the tools
// and the template's kwargs are used. The reasoning is left out where the template shows none; it
// is empty where the generation prompt opens reasoning and the answer has none.
//
// kInvalidArgument: the template does not render the answer. kUnsupported: no part of what it
// renders parses as the answer. Any thread.
Result<std::string> WrittenAnswer(const Message& answer, const Conversation& conversation,
                                  const ChatTemplate& chat_template);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_WRITTEN_ANSWER_H_
