// HTML in texts. Pure functions.

#ifndef CAIRN_JINJA_BUILTIN_HTML_H_
#define CAIRN_JINJA_BUILTIN_HTML_H_

#include <string>
#include <string_view>

namespace cairn::jinja {

// Without comments and tags, with single spaces for white space, and the common entities as the
// characters that they stand for.
std::string WithoutTags(std::string_view html);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_BUILTIN_HTML_H_
