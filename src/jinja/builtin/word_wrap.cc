#include "jinja/builtin/word_wrap.h"

#include <algorithm>
#include <string_view>

#include "jinja/builtin/text_work.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

bool IsBlank(uint32_t code) {
  return code == ' ' || (code >= 9 && code <= 13);
}

bool IsWord(uint32_t code) {
  return code == '_' || IsAlpha(code) || IsNumeric(code);
}

// Characters with their places.
class Chunks {
 public:
  explicit Chunks(const Text& text, bool at_hyphens) : at_hyphens_(at_hyphens) {
    for (size_t at = 0; at < text.size();) {
      const Character character = CharacterAt(text.bytes(), at);
      codes_.push_back(character.code);
      places_.push_back(at);
      at += character.bytes;
    }
    places_.push_back(text.size());
  }

  // Begins of the words and the white space between them, in characters.
  std::vector<size_t> Begins() const {
    std::vector<size_t> begins;
    for (size_t at = 0; at < codes_.size();) {
      begins.push_back(at);
      at = End(at);
    }
    begins.push_back(codes_.size());
    return begins;
  }
  bool BlankAt(size_t at) const { return IsBlank(codes_[at]); }
  size_t Place(size_t at) const { return places_[at]; }
  uint32_t Code(size_t at) const { return at < codes_.size() ? codes_[at] : ' '; }

 private:
  bool LetterAt(size_t at) const {
    const uint32_t code = Code(at);
    return at < codes_.size() && (code == '_' || IsAlpha(code));
  }
  bool DashesBefore(size_t at) const {
    return at > 0 && (IsWord(Code(at - 1)) ||
                      (Code(at - 1) < 128 &&
                       std::string_view("!\"'&.,?").find(static_cast<char>(Code(at - 1))) !=
                           std::string_view::npos));
  }
  // Two or more dashes in front of a word; their end, or 0.
  size_t EmDashEnd(size_t at) const {
    size_t end = at;
    while (Code(end) == '-') ++end;
    return end >= at + 2 && end < codes_.size() && IsWord(Code(end)) ? end : 0;
  }

  size_t End(size_t begin) const {
    size_t at = begin;
    if (BlankAt(at)) {
      while (at < codes_.size() && BlankAt(at)) ++at;
      return at;
    }
    if (at_hyphens_ && DashesBefore(at)) {
      if (const size_t end = EmDashEnd(at); end != 0) return end;
    }
    for (++at; at < codes_.size(); ++at) {
      if (BlankAt(at)) return at;
      if (!at_hyphens_) continue;
      if (DashesBefore(at) && EmDashEnd(at) != 0) return at;
      if (Code(at) != '-' || at + 1 >= codes_.size()) continue;
      const bool letters_before =
          at >= 2 && LetterAt(at - 1) &&
          (LetterAt(at - 2) || (at >= 3 && Code(at - 2) == '-' && LetterAt(at - 3)));
      const bool letters_behind =
          LetterAt(at + 1) && (LetterAt(at + 2) || (Code(at + 2) == '-' && LetterAt(at + 3)));
      if (letters_before && letters_behind) return at + 1;
    }
    return at;
  }

  const bool at_hyphens_;
  std::vector<uint32_t> codes_;
  std::vector<size_t> places_;
};

}  // namespace

std::vector<Value> WrappedLines(Heap* heap, const Text& text, const WrapStyle& style) {
  if (style.width <= 0) Raise("invalid width (must be > 0)");
  const auto width = static_cast<size_t>(std::min<Int>(style.width, Int{1} << 30));
  const Chunks chunks(text, style.at_hyphens);
  const std::vector<size_t> begins = chunks.Begins();
  std::vector<Value> lines;
  size_t next = 0;   // chunk
  size_t begin = 0;  // of what is left of it, in characters
  const size_t count = begins.size() - 1;
  while (next < count) {
    heap->Step();
    if (chunks.BlankAt(begin) && !lines.empty()) {
      if (++next < count) begin = begins[next];
      if (next >= count) break;
    }
    const size_t line_begin = begin;
    size_t length = 0;
    while (next < count && length + (begins[next + 1] - begin) <= width) {
      length += begins[next + 1] - begin;
      begin = begins[++next];
    }
    if (next < count && begins[next + 1] - begin > width) {
      size_t taken = width - length;
      if (style.breaks_words && taken > 0) {
        if (style.at_hyphens) {
          // Behind a hyphen, if there is one that is not the first character.
          for (size_t i = taken; i-- > 1;) {
            if (chunks.Code(begin + i) != '-') continue;
            bool others = false;
            for (size_t j = 0; j < i; ++j) others = others || chunks.Code(begin + j) != '-';
            if (others) taken = i + 1;
            break;
          }
        }
        length += taken;
        begin += taken;
      } else if (length == 0) {
        length = begins[next + 1] - begin;
        begin = begins[++next];
      }
    }
    size_t line_end = line_begin + length;
    while (line_end > line_begin && begins.size() > 1 && chunks.BlankAt(line_end - 1)) --line_end;
    if (line_end > line_begin) {
      lines.push_back(Value::Of(Part(text, chunks.Place(line_begin), chunks.Place(line_end))));
    }
  }
  return lines;
}

}  // namespace cairn::jinja
