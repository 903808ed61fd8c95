// Our own chat templates, by name, for models that have none and for --chat-template NAME. Those
// with tools, and reasoning where the family has it:
//
//   chatml  the default: <|im_start|>role … <|im_end|>, tool calls as JSON in <tool_call>
//   qwen    chatml with reasoning in <think>, dropped from answers before the last user query
//   gemma   user and model must take turns; system text goes before the first user message's text
//   llama3  <|start_header_id|>role<|end_header_id|> … <|eot_id|>
//
// The others have llama.cpp's names and print turns only.

#ifndef CAIRN_CHAT_TEMPLATE_BUILTIN_TEMPLATES_H_
#define CAIRN_CHAT_TEMPLATE_BUILTIN_TEMPLATES_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

// The name of the template for a model that has none.
inline constexpr std::string_view kDefaultTemplate = "chatml";

// Returns the Jinja text of that name, which lives as long as the program. Returns kNotFound with
// the list of names if there is none. Any thread.
Result<std::string_view> BuiltinTemplate(std::string_view name);

// Those with tools.
std::vector<std::string> BuiltinTemplateNames();

// The templates that print turns only, by llama.cpp's name (plain_templates.cc). They live as long
// as the program.
const std::map<std::string, std::string, std::less<>>& PlainTemplates();

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_BUILTIN_TEMPLATES_H_
