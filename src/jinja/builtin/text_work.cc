#include "jinja/builtin/text_work.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "jinja/value/print.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

constexpr size_t kNowhere = std::string_view::npos;
// The search from the end needs four times the bytes of what it searches for.
constexpr size_t kSearchedBytesMax = size_t{16} << 20;

bool Holds(std::string_view characters, std::string_view one) {
  return characters.find(one) != kNowhere;
}

bool IsLineEnd(uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

std::vector<Value> SplitAtSpace(const Text& text, Int cuts, bool from_right) {
  const std::string_view bytes = text.bytes();
  std::vector<std::pair<size_t, size_t>> words;
  size_t begin = kNowhere;
  for (size_t at = 0; at < bytes.size();) {
    const Character character = CharacterAt(bytes, at);
    const bool space = IsSpace(character.code);
    if (space && begin != kNowhere) words.emplace_back(std::exchange(begin, kNowhere), at);
    if (!space && begin == kNowhere) begin = at;
    at += character.bytes;
  }
  if (begin != kNowhere) words.emplace_back(begin, bytes.size());
  const size_t kept =
      cuts < 0 ? words.size() : static_cast<size_t>(std::min<Int>(cuts, Int{1} << 40));
  if (words.size() > kept + 1) {
    if (from_right) {
      const size_t last = words.size() - kept - 1;
      words[last].first = 0;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(last));
    } else {
      words.resize(kept + 1);
      // The rest behind the last cut keeps its end as it is.
      words[kept].second = bytes.size();
    }
  }
  std::vector<Value> parts;
  for (const auto& [from, to] : words) parts.push_back(Value::Of(Part(text, from, to)));
  return parts;
}

void AppendOneInCase(uint32_t code, Case wanted, std::string* out) {
  switch (wanted) {
    case Case::kLower:
      return AppendLower(code, out);
    case Case::kUpper:
      return AppendUpper(code, out);
    case Case::kTitle:
      return AppendTitle(code, out);
    case Case::kFolded:
      return AppendFolded(code, out);
    case Case::kSwapped:
      if (IsUpper(code)) return AppendLower(code, out);
      return IsLower(code) ? AppendUpper(code, out) : AppendCharacter(code, out);
  }
}

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

size_t FindIn(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return kNowhere;
  if (part.empty()) return from;
  const std::string_view rest = text.substr(from);
  const void* const found = memmem(rest.data(), rest.size(), part.data(), part.size());
  if (found == nullptr) return kNowhere;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

// Knuth, Morris and Pratt's search from the end.
size_t FindLastIn(std::string_view text, std::string_view part) {
  if (part.empty()) return text.size();
  if (part.size() > text.size()) return kNowhere;
  if (part.size() > kSearchedBytesMax) Raise("a text to search for is too long");
  const auto reversed = [&](size_t i) { return part[part.size() - 1 - i]; };
  std::vector<uint32_t> borders(part.size());
  for (size_t i = 1, border = 0; i < part.size(); ++i) {
    while (border > 0 && reversed(i) != reversed(border)) border = borders[border - 1];
    if (reversed(i) == reversed(border)) ++border;
    borders[i] = static_cast<uint32_t>(border);
  }
  size_t matched = 0;
  for (size_t i = text.size(); i-- > 0;) {
    while (matched > 0 && text[i] != reversed(matched)) matched = borders[matched - 1];
    if (text[i] == reversed(matched)) ++matched;
    if (matched == part.size()) return i;
  }
  return kNowhere;
}

size_t CountIn(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = FindIn(text, part); at != kNowhere; at = FindIn(text, part, at + part.size())) {
    ++count;
  }
  return count;
}

Text Stripped(const Text& text, const std::string_view* characters, Side side) {
  const std::string_view bytes = text.bytes();
  const auto strips = [&](size_t at, const Character& character) {
    return characters == nullptr ? IsSpace(character.code)
                                 : Holds(*characters, bytes.substr(at, character.bytes));
  };
  size_t begin = 0;
  size_t end = bytes.size();
  while (side != Side::kRight && begin < end) {
    const Character character = CharacterAt(bytes, begin);
    if (!strips(begin, character)) break;
    begin += character.bytes;
  }
  while (side != Side::kLeft && end > begin) {
    const size_t at = CharacterBefore(bytes, end);
    if (!strips(at, CharacterAt(bytes, at))) break;
    end = at;
  }
  return Part(text, begin, end);
}

Text Replaced(Heap* heap, const Text& text, const Text& from, const Text& to, Int count) {
  TextBuilder out(heap);
  const std::string_view bytes = text.bytes();
  heap->StepOverBytes(bytes.size());
  size_t at = 0;
  if (from.empty()) {
    for (; count != 0; --count) {
      out.Append(to);
      if (at >= bytes.size()) break;
      const size_t next = at + CharacterAt(bytes, at).bytes;
      out.Append(text, at, next);
      at = next;
    }
  } else {
    for (size_t found = FindIn(bytes, from.bytes()); count != 0 && found != kNowhere; --count) {
      out.Append(text, at, found);
      out.Append(to);
      at = found + from.size();
      found = FindIn(bytes, from.bytes(), at);
      heap->Step();
    }
    if (at == 0) return text;
  }
  out.Append(text, at, bytes.size());
  out.set_safe(text.safe());
  return out.Build();
}

std::vector<Value> SplitText(const Text& text, const std::string_view* at, Int cuts,
                             bool from_right) {
  if (at == nullptr) return SplitAtSpace(text, cuts, from_right);
  if (at->empty()) Raise("empty separator");
  std::vector<Value> parts;
  const std::string_view bytes = text.bytes();
  if (!from_right) {
    size_t begin = 0;
    for (size_t found = FindIn(bytes, *at); cuts != 0 && found != kNowhere; --cuts) {
      parts.push_back(Value::Of(Part(text, begin, found)));
      begin = found + at->size();
      found = FindIn(bytes, *at, begin);
    }
    parts.push_back(Value::Of(Part(text, begin, bytes.size())));
    return parts;
  }
  size_t end = bytes.size();
  while (cuts != 0) {
    const size_t found = FindLastIn(bytes.substr(0, end), *at);
    if (found == kNowhere) break;
    parts.push_back(Value::Of(Part(text, found + at->size(), end)));
    end = found;
    --cuts;
  }
  parts.push_back(Value::Of(Part(text, 0, end)));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> Lines(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Character character = CharacterAt(bytes, at);
    size_t behind = at + character.bytes;
    if (!IsLineEnd(character.code)) {
      at = behind;
      continue;
    }
    if (character.code == '\r' && behind < bytes.size() && bytes[behind] == '\n') ++behind;
    lines.push_back(Part(text, begin, keep_ends ? behind : at));
    begin = at = behind;
  }
  if (begin < bytes.size()) lines.push_back(Part(text, begin, bytes.size()));
  return lines;
}

void AppendInCase(const Text& text, size_t begin, size_t end, Case wanted, TextBuilder* out) {
  const std::string_view bytes = text.bytes();
  size_t same = begin;  // begin of what is not appended and stays as it is
  size_t changed = begin;
  std::string other;
  std::string one;
  const auto flush = [&] {
    out->AppendChanged(other, text, changed);
    other.clear();
  };
  for (size_t at = begin; at < end;) {
    const Character character = CharacterAt(bytes, at);
    one.clear();
    AppendOneInCase(character.code, wanted, &one);
    if (one == bytes.substr(at, character.bytes)) {
      if (!other.empty()) {
        flush();
        same = at;
      }
    } else {
      if (other.empty()) {
        out->Append(text, same, at);
        changed = at;
      } else if (other.size() != at - changed) {
        flush();  // of another size, so that places would move
        changed = at;
      }
      other += one;
    }
    at += character.bytes;
  }
  if (other.empty()) {
    out->Append(text, same, end);
  } else {
    flush();
  }
}

Text InCase(Heap* heap, const Text& text, Case wanted) {
  TextBuilder out(heap);
  AppendInCase(text, 0, text.size(), wanted, &out);
  out.set_safe(text.safe());
  return out.Build();
}

Text Capitalized(Heap* heap, const Text& text) {
  TextBuilder out(heap);
  const size_t first = text.empty() ? 0 : CharacterAt(text.bytes(), 0).bytes;
  AppendInCase(text, 0, first, Case::kTitle, &out);
  AppendInCase(text, first, text.size(), Case::kLower, &out);
  out.set_safe(text.safe());
  return out.Build();
}

Text Padded(Heap* heap, const Text& text, size_t left, size_t right, std::string_view fill) {
  heap->CheckTextBytes(left);
  heap->CheckTextBytes(right);
  heap->CheckTextBytes(text.size() + (left + right) * fill.size());
  std::string before;
  for (size_t i = 0; i < left; ++i) before += fill;
  std::string behind;
  for (size_t i = 0; i < right; ++i) behind += fill;
  TextBuilder out(heap);
  out.AppendMade(before);
  out.Append(text);
  out.AppendMade(behind);
  out.set_safe(text.safe());
  return out.Build();
}

// As Python divides an odd number of fillers.
Text Centered(Heap* heap, const Text& text, size_t width, std::string_view fill) {
  const size_t length = text.length();
  if (width <= length) return text;
  const size_t all = width - length;
  const size_t left = all / 2 + (all & width & 1U);
  return Padded(heap, text, left, all - left, fill);
}

Text Joined(Heap* heap, const Text& between, const std::vector<Value>& items, bool any_type) {
  TextBuilder out(heap);
  bool first = true;
  for (const Value& item : items) {
    if (!first) out.Append(between);
    first = false;
    if (!any_type && !item.is_text()) {
      RequireDefined(item);
      Raise(std::string("sequence item: expected str instance, ") + TypeName(item) + " found");
    }
    AppendTextOf(item, &out);
  }
  return out.Build();
}

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
