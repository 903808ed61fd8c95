// What a template's text must pass before the template engine sees it. The text comes from a
// model file, so it may be anything.

#ifndef CAIRN_CHAT_TEMPLATE_SOURCE_H_
#define CAIRN_CHAT_TEMPLATE_SOURCE_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

// The source with the insides of its comments taken out, because the engine's parser recurses
// once for every character of a comment, and with f(x).y written as (f(x)).y, the only way in which
// the engine can read it. Any thread.
// kInvalidArgument: too long, or expressions or blocks nested deeper than any real template's,
// which would overflow the parser's stack.
Result<std::string> PrepareTemplateSource(std::string_view source);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_SOURCE_H_
