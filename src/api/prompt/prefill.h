// Assistant prefill: a last message of the assistant that the answer continues.
//
//   continue_final_message: true         it is continued, whatever the server's flag
//   add_generation_prompt: false         the prompt ends behind the last message
//   neither, and the assistant is last   it is continued, but with --no-prefill-assistant
//
// As in llama-server; Anthropic's messages have no fields for it, and the last line holds for them.
//
// Pure functions; any thread.

#ifndef CAIRN_API_PROMPT_PREFILL_H_
#define CAIRN_API_PROMPT_PREFILL_H_

#include <string_view>
#include <vector>

#include "api/json.h"
#include "chat/message.h"
#include "chat/parse/reasoning_tags.h"

namespace cairn {

// What `continue_final_message` and `add_generation_prompt` say. 400: they contradict each other,
// or there is no message to continue.
ApiResult<PromptEnd> ParsePromptEnd(const Json& body, const std::vector<Message>& messages);

// Decides what the client left to the server. `prefills`: it continues an assistant's last message.
// One that is empty is left out, as the generation prompt says the same. One with tool calls is
// whole. Afterwards `end` is not kUsual.
void SettlePromptEnd(bool prefills, Conversation* conversation);

// Whether no reasoning can follow `prefilled`, which stands behind `generation_prompt`: it has
// closed it, or has content. An empty one ends nothing.
bool EndsReasoning(const ReasoningTags& tags, std::string_view generation_prompt,
                   std::string_view prefilled);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_PREFILL_H_
