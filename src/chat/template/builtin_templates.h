// Chat templates of our own, by name, for models that bring none and for --chat-template NAME.
//
//   chatml  the default: <|im_start|>role … <|im_end|>, tool calls as JSON in <tool_call>
//   qwen    chatml with reasoning in <think>, dropped from answers before the last user query
//   gemma   user and model must take turns; system text goes in front of the first user message
//   llama3  <|start_header_id|>role<|end_header_id|> … <|eot_id|>

#ifndef CAIRN_CHAT_TEMPLATE_BUILTIN_TEMPLATES_H_
#define CAIRN_CHAT_TEMPLATE_BUILTIN_TEMPLATES_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

// The name of the template for a model that brings none.
inline constexpr std::string_view kDefaultTemplate = "chatml";

// The Jinja text of that name; it lives as long as the program. Any thread.
// kNotFound: the message lists the names there are.
Result<std::string_view> BuiltinTemplate(std::string_view name);

std::vector<std::string> BuiltinTemplateNames();

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_BUILTIN_TEMPLATES_H_
