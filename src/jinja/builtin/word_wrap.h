// Lines of limited width, as Python's textwrap makes them.

#ifndef CAIRN_JINJA_BUILTIN_WORD_WRAP_H_
#define CAIRN_JINJA_BUILTIN_WORD_WRAP_H_

#include <vector>

#include "jinja/value/heap.h"
#include "jinja/value/text.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

struct WrapStyle {
  Int width = 79;
  bool breaks_words = true;  // that are longer than a line
  bool at_hyphens = true;
};

std::vector<Value> WrappedLines(Heap* heap, const Text& text, const WrapStyle& style);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_BUILTIN_WORD_WRAP_H_
