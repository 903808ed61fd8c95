// WrittenAnswer: the text that a model would generate under a chat template to give a certain
// answer.
//
// No model family is special-cased: the template renders the answer, and the answer parser decides
// which part of the rendering is the answer. So the text parses as `answer` by construction.

#ifndef CAIRN_API_SERVICE_WRITTEN_ANSWER_H_
#define CAIRN_API_SERVICE_WRITTEN_ANSWER_H_

#include <string>

#include "base/result.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn {

// Returns the text after the generation prompt, up to the end of the message. Uses the tools and
// the template kwargs of `conversation`. The reasoning is left out if the template shows none, and
// is empty if the generation prompt opens reasoning and the answer has none.
//
// kInvalidArgument if the template does not render the answer; kUnsupported if no part of the
// rendering parses as the answer. Any thread.
Result<std::string> WrittenAnswer(const Message& answer, const Conversation& conversation,
                                  const ChatTemplate& chat_template);

}  // namespace cairn

#endif  // CAIRN_API_SERVICE_WRITTEN_ANSWER_H_
