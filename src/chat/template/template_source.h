// What a template's text must pass before the template engine sees it. The text comes from a
// model file, so it may be anything.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

// The source as the engine must see it to render what Jinja renders: without the insides of
// comments, on each character of which the engine's parser recurses; with the code of tags as
// template_expression.h writes it; with white space in front of {{ kept; and with loops whose turns
// do not see what the turns before them set. Any thread.
// kInvalidArgument: too long, or expressions or blocks nested deeper than any real template's,
// which would overflow the parser's stack.
Result<std::string> PrepareTemplateSource(std::string_view source);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_
