// Assistant prefill: the answer continues the assistant's last message.
//
//   continue_final_message: true         the message is continued, whatever the server's flag
//   add_generation_prompt: false         the prompt ends after the last message
//   neither, and the assistant is last   the message is continued unless --no-prefill-assistant
//
// As in llama-server. Anthropic's API has no fields for it; the last line applies.
//
// Pure functions; any thread.

#ifndef CAIRN_API_REQUEST_PREFILL_H_
#define CAIRN_API_REQUEST_PREFILL_H_

#include <string_view>
#include <vector>

#include "api/json.h"
#include "chat/learn/reasoning_tags.h"
#include "chat/text/message.h"

namespace cairn {

// Parses `continue_final_message` and `add_generation_prompt`. 400 if they contradict each other or
// there is no message to continue.
ApiResult<PromptEnd> ParsePromptEnd(const Json& body, const std::vector<Message>& messages);

// Resolves `end` if the client left it open; it is not kUsual afterwards. `prefills` is the
// server's flag. An empty last message of the assistant is dropped, because the generation prompt
// has the same meaning. A message with tool calls is complete and is not continued.
void SettlePromptEnd(bool prefills, Conversation* conversation);

// Returns whether no reasoning can follow `prefilled`, the text after `generation_prompt`: it has
// closed its reasoning, or has content. If it is empty, whether the generation prompt ends with
// reasoning that is closed, as templates write it where reasoning is turned off.
bool EndsReasoning(const ReasoningTags& tags, std::string_view generation_prompt,
                   std::string_view prefilled);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_PREFILL_H_
