// ToolChoice: whether a request forces a tool call, and of which tools.

#ifndef CAIRN_API_GRAMMAR_TOOL_CHOICE_H_
#define CAIRN_API_GRAMMAR_TOOL_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"

namespace cairn {

// The field of a request, as errors name it.
inline constexpr const char* kToolChoiceField = "tool_choice";

// The prompt always has all tools of the request: another choice must not invalidate the prefix.
struct ToolChoice {
  enum class Kind : uint8_t {
    kAuto,      // the model decides
    kNone,      // text that looks like a call stays text
    kRequired,  // the answer is one or more calls
  };
  Kind kind = Kind::kAuto;
  // Names of the tools that may be called; empty for all.
  std::vector<std::string> names = {};
  // With kRequired: whether an answer may have more than one call.
  bool several = true;

  friend bool operator==(const ToolChoice&, const ToolChoice&) = default;
};

// Parses `tool_choice` and `parallel_tool_calls` of OpenAI's chat and Responses: "none", "auto",
// "required", {"type": "function", …} with the name in it or in its "function", or {"type":
// "allowed_tools", …}. Errors name the field.
ApiResult<ToolChoice> ParseToolChoice(const Json& body);

// Parses Anthropic's `tool_choice`: {"type": "auto" | "any" | "tool" | "none", "name",
// "disable_parallel_tool_use"}.
ApiResult<ToolChoice> ParseMessagesToolChoice(const Json& body);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_TOOL_CHOICE_H_
