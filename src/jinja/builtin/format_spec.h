// Python's format specifications ("08.3f"), shared by format() and the % operator.

#ifndef CAIRN_JINJA_BUILTIN_FORMAT_SPEC_H_
#define CAIRN_JINJA_BUILTIN_FORMAT_SPEC_H_

#include <string>
#include <string_view>

#include "jinja/run/builtins.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  size_t width = 0;
  int precision = -1;
  char type = 0;
};

// "[[fill]align][sign][#][0][width][grouping][.precision][type]". Raises a Failure.
FormatSpec ParseFormatSpec(std::string_view spec);

// The digits of a number without padding; `spec.type` must be one of a number's.
std::string NumberText(const Value& number, const FormatSpec& spec);

// format(value, spec)
Text Formatted(Interpreter& run, const Value& value, std::string_view spec);

// With fillers up to the width. `sign_bytes`: of "-0x", behind which "=" fills.
Text Aligned(Interpreter& run, const Text& text, const FormatSpec& spec, char default_align,
             size_t sign_bytes);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_BUILTIN_FORMAT_SPEC_H_
