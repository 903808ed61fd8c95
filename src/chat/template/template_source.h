// Preparation of a template's text for the template engine. The text comes from a model file, so it
// may be anything.

#ifndef CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_
#define CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

// Returns the source in the form in which the engine renders what Jinja renders: without the text
// of comments, on whose characters the engine's parser recurses; with the code of tags rewritten by
// template_expression.h; with white space before {{ kept; and with loops whose iterations do not
// see variables set in earlier ones. Returns kInvalidArgument if the source is too long, or if
// expressions or blocks are nested deeper than in any real template, which would overflow the
// parser's stack. Any thread.
Result<std::string> PrepareTemplateSource(std::string_view source);

// Returns one template for a model that has two: `with_tools` where tools are offered, or where the
// conversation has calls or their results, and `usual` elsewhere. Any thread.
std::string WithToolTemplate(std::string_view usual, std::string_view with_tools);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TEMPLATE_SOURCE_H_
