// `context_management` of POST /v1/messages and its answers: which old parts of the conversation
// are cleared before the prompt is made (api/prompt/context_editor.h), and what was cleared.
//
//   {"edits": [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}},
//              {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value":
//              …},
//               "keep": {"type": "tool_uses", "value": 3}, "clear_at_least": {…},
//               "exclude_tools": ["memory"], "clear_tool_inputs": false}]}
//
// Any thread.

#ifndef CAIRN_API_ANTHROPIC_CONTEXT_MANAGEMENT_H_
#define CAIRN_API_ANTHROPIC_CONTEXT_MANAGEMENT_H_

#include "api/api_error.h"
#include "api/json.h"
#include "api/prompt/context_editor.h"
#include "chat/text/message.h"

namespace cairn {

// An edit of another type, and an unknown field of an edit, are a 400: the client counts on what
// they would do.
ApiResult<ContextEdits> ParseContextManagement(const Json& body);

// Returns {"applied_edits": […]}, with the edits that cleared something.
Json AppliedEditsJson(const AppliedEdits& applied);

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_CONTEXT_MANAGEMENT_H_
