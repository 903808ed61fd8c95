// What requests and flags ask of reasoning, in the words of every API, and how the scheduler is
// told of it.

#ifndef CAIRN_API_PROMPT_REASONING_REQUEST_H_
#define CAIRN_API_PROMPT_REASONING_REQUEST_H_

#include <string>

#include "api/json.h"
#include "chat/message.h"
#include "chat/parse/answer_parser.h"
#include "sched/answer/reasoning_meter.h"

namespace cairn {

// `chat_template_kwargs`, of a request of any API.
void ReadTemplateKwargs(FieldReader* fields, Conversation* conversation);

// llama-server's `thinking_budget_tokens`: tokens of reasoning; 0 ends it at once, -1 leaves what
// the server's flags say.
void ReadThinkingBudget(FieldReader* fields, ReasoningParams* reasoning);

// `reasoning_effort` of a chat completion.
void ReadReasoningEffort(FieldReader* fields, ReasoningWish* wish);
// `reasoning.effort` of a response.
void ReadReasoningOptions(FieldReader* fields, ReasoningWish* wish);
// Anthropic's `thinking` and `output_config.effort`.
void ReadThinking(FieldReader* fields, ReasoningWish* wish);
// `thinking.budget_tokens`, where thinking is enabled.
void ReadThinkingBudgetTokens(FieldReader* fields, ReasoningParams* reasoning);

// How the answer's reasoning is known and ended. The budget and its message are `asked`'s.
ReasoningParams ReasoningOf(const AnswerFormat& format, const ReasoningParams& asked);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_REASONING_REQUEST_H_
