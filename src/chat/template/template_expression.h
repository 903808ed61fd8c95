// Rewrites the code inside a template's tags so that the template engine evaluates it as Jinja
// does.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_EXPRESSION_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_EXPRESSION_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Functions that the rewritten code calls; template_functions.h defines them. A method NAME that
// the engine lacks becomes a call of kMethodPrefix + NAME with its object as the first argument.
inline constexpr std::string_view kTextFunction = "cairn_text";
inline constexpr std::string_view kTruthFunction = "cairn_truth";
inline constexpr std::string_view kItemFunction = "cairn_item";
inline constexpr std::string_view kMethodPrefix = "cairn_";

// Returns the code of a tag, without its delimiters and white space control, rewritten as follows:
//
//   f(x).y         -> (f(x)).y          the engine does not parse members of a call's result
//   x[0], x.0      -> cairn_item(x, 0)  also works for strings, and for missing items
//   x ~ y          -> cairn_text(x) ~ cairn_text(y)
//   x is undefined -> x is not defined
//   x.split(y, 1)  -> cairn_split(x, y, 1)
//   not x          -> not cairn_truth(x)  an empty object is false
//   '\u00e9'       -> 'é'
//
// Code that cannot be parsed is returned unchanged, because the engine's error message is the
// clearest. Any thread.
std::string RewriteExpression(std::string_view code);

// Returns the names in the code, in order, without attributes, keywords and strings.
std::vector<std::string> NamesIn(std::string_view code);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_EXPRESSION_H_
