// The JSON values that a chat template sees, made from a Conversation.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_

#include "base/json.h"
#include "base/result.h"
#include "chat/message.h"
#include "chat/template/template_caps.h"

namespace cairn {

// The `messages` array in the shape that the template wants. Any thread.
// kInvalidArgument: too many messages, or tool call arguments that are not the JSON object that
// this template insists on.
Result<Json> TemplateMessages(const Conversation& conversation, const TemplateCaps& caps);

// The `tools` array; null when the conversation has none.
Result<Json> TemplateTools(const Conversation& conversation);

// The `chat_template_kwargs` object; empty when the conversation has none.
Result<Json> TemplateKwargs(const Conversation& conversation);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_INPUT_H_
