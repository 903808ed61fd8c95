// What a request says of whether, and which, tools are to be called.

#ifndef CAIRN_API_GRAMMAR_TOOL_CHOICE_H_
#define CAIRN_API_GRAMMAR_TOOL_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"

namespace cairn {

// Whatever it says, the prompt shows all tools that the request has: another choice must not cost
// the prefix.
struct ToolChoice {
  enum class Kind : uint8_t {
    kAuto,      // the model decides
    kNone,      // what looks like a call is text
    kRequired,  // the answer is a call, or several
  };
  Kind kind = Kind::kAuto;
  // The only ones that may be called; empty: all.
  std::vector<std::string> names = {};
  // With kRequired: more than one call in an answer.
  bool several = true;

  friend bool operator==(const ToolChoice&, const ToolChoice&) = default;
};

// `tool_choice` and `parallel_tool_calls` as OpenAI's chat and Responses have them: "none", "auto",
// "required", {"type": "function", …} with the name in it or in its "function", or {"type":
// "allowed_tools", …}. Errors name the field.
ApiResult<ToolChoice> ParseToolChoice(const Json& body);

// `tool_choice` as Anthropic has it: {"type": "auto" | "any" | "tool" | "none", "name",
// "disable_parallel_tool_use"}.
ApiResult<ToolChoice> ParseMessagesToolChoice(const Json& body);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_TOOL_CHOICE_H_
