// The code inside a template's tags, written so that the template engine reads it as Jinja does.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_EXPRESSION_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_EXPRESSION_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Functions that rewritten code calls; template_functions.h defines them. A method NAME that the
// engine lacks becomes a call of kMethodPrefix + NAME with its object as first argument.
inline constexpr std::string_view kTextFunction = "cairn_text";
inline constexpr std::string_view kTruthFunction = "cairn_truth";
inline constexpr std::string_view kItemFunction = "cairn_item";
inline constexpr std::string_view kMethodPrefix = "cairn_";

// The code of a tag, without its delimiters and marks of white space:
//   f(x).y         -> (f(x)).y          the engine does not look into the result of a call
//   x[0], x.0      -> cairn_item(x, 0)  also of a text, and nothing where there is none
//   x ~ y          -> cairn_text(x) ~ cairn_text(y)
//   x is undefined -> x is not defined
//   x.split(y, 1)  -> cairn_split(x, y, 1)
//   not x          -> not cairn_truth(x)  an empty object is false
//   '\u00e9'       -> 'é'
// Code that cannot be read comes back as it is: the engine's own error is the clearest. Any thread.
std::string RewriteExpression(std::string_view code);

// The names that the code mentions, in order, without attributes, keywords and texts.
std::vector<std::string> NamesIn(std::string_view code);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_EXPRESSION_H_
