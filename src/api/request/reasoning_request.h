// Parses the reasoning fields of all APIs, and translates them for the scheduler.

#ifndef CAIRN_API_REQUEST_REASONING_REQUEST_H_
#define CAIRN_API_REQUEST_REASONING_REQUEST_H_

#include <string>

#include "api/json.h"
#include "chat/parse/answer_parser.h"
#include "chat/text/message.h"
#include "sched/answer/reasoning_meter.h"

namespace cairn {

// Parses `chat_template_kwargs` of a request of any API.
void ReadTemplateKwargs(FieldReader* fields, Conversation* conversation);

// Parses llama-server's `thinking_budget_tokens`: tokens of reasoning; 0 closes it at once, -1
// keeps the server's default.
void ReadThinkingBudget(FieldReader* fields, ReasoningParams* reasoning);

// Parses `reasoning_effort` of a chat completion.
void ReadReasoningEffort(FieldReader* fields, ReasoningWish* wish);
// Parses `reasoning.effort` of a response.
void ReadReasoningOptions(FieldReader* fields, ReasoningWish* wish);
// Parses Anthropic's `thinking` and `output_config.effort`.
void ReadThinking(FieldReader* fields, ReasoningWish* wish);
// Parses `thinking.budget_tokens` if thinking is enabled.
void ReadThinkingBudgetTokens(FieldReader* fields, ReasoningParams* reasoning);

// Returns how the scheduler recognizes and ends the answer's reasoning. The budget and its message
// are those of `asked`.
ReasoningParams ReasoningOf(const AnswerFormat& format, const ReasoningParams& asked);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_REASONING_REQUEST_H_
