// The JSON values that a chat template receives, made from a Conversation.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_

#include "base/json.h"
#include "base/result.h"
#include "chat/message.h"
#include "chat/template/template_caps.h"

namespace cairn {

// Returns the `messages` array in the form that the template needs. A call's arguments become an
// object where it needs one, whatever they are (chat/parse/call_arguments.h). Returns
// kInvalidArgument if there are too many messages. Any thread.
Result<Json> TemplateMessages(const Conversation& conversation, const TemplateCaps& caps);

// Returns the `chat_template_kwargs` object; empty if the conversation has none.
Result<Json> TemplateKwargs(const Conversation& conversation);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_
