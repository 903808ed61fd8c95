// Work that filters and methods of texts share. All keep origins. Raise Failures.

#ifndef CAIRN_JINJA_BUILTIN_TEXT_WORK_H_
#define CAIRN_JINJA_BUILTIN_TEXT_WORK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value/heap.h"
#include "jinja/value/text.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

// Place of a byte sequence, or npos; in linear time.
size_t FindIn(std::string_view text, std::string_view part, size_t from = 0);
size_t FindLastIn(std::string_view text, std::string_view part);
size_t CountIn(std::string_view text, std::string_view part);

enum class Side : uint8_t { kBoth, kLeft, kRight };

// Without `characters` at the ends; null: white space.
Text Stripped(const Text& text, const std::string_view* characters, Side side);
Text Replaced(Heap* heap, const Text& text, const Text& from, const Text& to, Int count);
// At a text, or (null) at white space; at most `cuts` times, unless negative.
std::vector<Value> SplitText(const Text& text, const std::string_view* at, Int cuts,
                             bool from_right);
std::vector<Text> Lines(const Text& text, bool keep_ends);

enum class Case : uint8_t { kLower, kUpper, kTitle, kFolded, kSwapped };
// Characters [begin, end), as bytes, in another case.
void AppendInCase(const Text& text, size_t begin, size_t end, Case wanted, TextBuilder* out);
Text InCase(Heap* heap, const Text& text, Case wanted);
Text Capitalized(Heap* heap, const Text& text);

// With `left` and `right` times a character around it.
Text Padded(Heap* heap, const Text& text, size_t left, size_t right, std::string_view fill = " ");
Text Centered(Heap* heap, const Text& text, size_t width, std::string_view fill = " ");
Text Joined(Heap* heap, const Text& between, const std::vector<Value>& items, bool any_type);

// Lines of limited width, as Python's textwrap makes them.
struct WrapStyle {
  Int width = 79;
  bool breaks_words = true;  // that are longer than a line
  bool at_hyphens = true;
};

std::vector<Value> WrappedLines(Heap* heap, const Text& text, const WrapStyle& style);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_BUILTIN_TEXT_WORK_H_
