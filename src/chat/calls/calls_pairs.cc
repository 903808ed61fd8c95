#include "chat/calls/calls_pairs.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/calls/quoted_values.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

using Strings = LearnedCalls::Strings;

// Returns the number of bytes at the end of `text` that are an incomplete beginning of `word`.
size_t BegunSize(std::string_view text, std::string_view word) {
  if (word.empty()) return 0;
  size_t size = std::min(text.size(), word.size() - 1);
  while (size > 0 && !text.ends_with(word.substr(0, size))) --size;
  return size;
}

// Returns the number of bytes at the end of `text` that belong to an incomplete character.
size_t CharacterBegun(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return back < size ? back : 0;
  }
  return 0;
}

// Returns a string's text as it appears between JSON's quotes.
std::string EscapedJson(std::string_view text) {
  const std::string quoted = JsonString(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

Scan PairReader::Read(std::string_view text, size_t* at, std::string* json) {
  json->clear();
  Scan scan = Scan::kFound;
  while (scan == Scan::kFound && state_ != State::kEnded) {
    switch (state_) {
      case State::kNext:
        scan = ReadNext(text, at, json);
        break;
      case State::kString:
        scan = ReadString(text, at, json);
        break;
      case State::kOther:
        scan = ReadOther(text, at, json);
        break;
      case State::kEnded:
        break;
    }
  }
  written_ += json->size();
  return scan;
}

std::vector<std::pair<size_t, size_t>> PairReader::Overwritten() const {
  std::vector<std::pair<size_t, size_t>> ranges;
  std::unordered_map<std::string_view, size_t> last;
  for (size_t i = 0; i < members_.size(); ++i) last[members_[i].key] = i;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (last[members_[i].key] == i) continue;
    ranges.emplace_back(members_[i].begin, members_[i + 1].begin);
  }
  return ranges;
}

// Reads a pair up to its value, or the end. The texts that open a key and close the call may begin
// alike.
Scan PairReader::ReadNext(std::string_view text, size_t* at, std::string* json) {
  const bool key_is_opened = !syntax_->key_open.empty();
  Scan pair = key_is_opened ? ReadPair(text, at, json) : Scan::kNotHere;
  if (pair != Scan::kNotHere) return pair;
  const Scan close = AnyOfStandsAt(text, syntax_->pairs_end, *at);
  if (close == Scan::kFound) {
    *json += members_.empty() ? "{}" : "}";
    state_ = State::kEnded;
    return close;
  }
  if (!key_is_opened) pair = ReadPair(text, at, json);
  return pair == Scan::kNotHere ? close : pair;
}

Scan PairReader::ReadPair(std::string_view text, size_t* at, std::string* json) {
  size_t i = *at;
  bool opened_as_string = false;
  std::string key;
  Scan scan = Scan::kFound;
  if (!members_.empty()) scan = TakeParts(text, syntax_->pair_between, &i);
  // If keys have their own opening text, the text between pairs is optional.
  if (scan == Scan::kNotHere && !syntax_->key_open.empty()) scan = Scan::kFound;
  if (scan == Scan::kFound) scan = TakeParts(text, syntax_->key_open, &i);
  if (scan == Scan::kFound) scan = TakeKey(text, &i, &key, &opened_as_string);
  if (scan == Scan::kFound) {
    const ValueEdge& open = opened_as_string ? syntax_->string_open : syntax_->other_open;
    scan = TakeSpace(text, open.space, &i);
  }
  if (scan != Scan::kFound) return scan;
  const LearnedCalls& calls = syntax_->calls;
  const bool told_apart = calls.string_open != calls.other_open;
  const bool is_text =
      told_apart ? opened_as_string : calls.strings == Strings::kRaw && types_->IsText(key);
  state_ = is_text ? State::kString : State::kOther;
  *json += members_.empty() ? "{" : ", ";
  const size_t begin = written_ + json->size();
  *json += JsonString(key) + (is_text ? ": \"" : ": ");
  members_.push_back({std::move(key), begin});
  *at = i;
  value_begin_ = i;
  looked_to_ = i;
  return Scan::kFound;
}

// Reads the key, up to and including the text that opens the value.
Scan PairReader::TakeKey(std::string_view text, size_t* at, std::string* key,
                         bool* opened_as_string) const {
  for (size_t i = *at; i <= *at + kQuotedKeyBytesMax; ++i) {
    if (i >= text.size()) return Scan::kMore;
    size_t end = i;
    Scan scan = TakePartsHere(text, syntax_->string_open.parts, &end);
    *opened_as_string = scan == Scan::kFound;
    if (scan == Scan::kNotHere) scan = TakeOtherOpen(text, &end);
    if (scan == Scan::kMore) return scan;
    if (scan == Scan::kNotHere) {
      if (text[i] == '<' || text[i] == '>' || text[i] == '\n') return scan;
      continue;
    }
    if (i == *at) return Scan::kNotHere;
    *key = text.substr(*at, i - *at);
    *at = end;
    return scan;
  }
  return Scan::kNotHere;
}

// Reads the text that opens a value that is not a string.
Scan PairReader::TakeOtherOpen(std::string_view text, size_t* at) const {
  size_t end = *at;
  Scan scan = TakePartsHere(text, syntax_->other_open.parts, &end);
  if (scan == Scan::kFound && !syntax_->other_type_end.empty()) {
    end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", end);
    if (end == std::string_view::npos) return Scan::kMore;
    scan = TakePartsHere(text, syntax_->other_type_end, &end);
  }
  if (scan == Scan::kFound) *at = end;
  return scan;
}

// Skips the white space that the template writes there, if it is present.
Scan PairReader::TakeSpace(std::string_view text, const std::string& space, size_t* at) {
  size_t end = *at;
  const Scan scan = TakeWord(text, space, &end);
  if (scan == Scan::kMore) return scan;
  if (scan == Scan::kFound) *at = end;
  return Scan::kFound;
}

Scan PairReader::ReadString(std::string_view text, size_t* at, std::string* json) {
  size_t end = 0;
  size_t behind = 0;
  const Scan scan = FindEnd(text, syntax_->string_close, &end, &behind);
  if (scan == Scan::kMore) end -= std::min(end, CharacterBegun(text.substr(0, end)));
  if (end > *at) {
    *json += EscapedJson(text.substr(*at, end - *at));
    *at = end;
  }
  if (scan != Scan::kFound) return scan;
  *json += '"';
  *at = behind;
  state_ = State::kNext;
  return scan;
}

Scan PairReader::ReadOther(std::string_view text, size_t* at, std::string* json) {
  std::string value;
  size_t behind = *at;
  if (syntax_->calls.strings == Strings::kQuoted) {
    // A value cannot have ended before one of these bytes.
    const size_t from = std::exchange(looked_to_, text.size());
    if (from < text.size() && text.find_first_of(",}]", from) == std::string_view::npos) {
      return Scan::kMore;
    }
    Scan scan = TakeQuotedValue(text, syntax_->calls.quote, &behind, &value);
    if (scan == Scan::kFound) scan = TakeParts(text, syntax_->other_close.parts, &behind);
    if (scan != Scan::kFound) return scan;
  } else {
    size_t end = 0;
    const Scan scan = FindEnd(text, syntax_->other_close, &end, &behind);
    if (scan != Scan::kFound) return scan;
    value = OtherValue(std::string(text.substr(*at, end - *at)));
  }
  *json += value;
  *at = behind;
  state_ = State::kNext;
  return Scan::kFound;
}

// A value ends at a closing text that is followed by the next pair or the call's end. Any other
// closing text is part of the value, which may itself be markup. With kMore, `*end` is a lower
// bound of the value's end.
Scan PairReader::FindEnd(std::string_view text, const ValueEdge& close, size_t* end,
                         size_t* behind) {
  const std::string& first = close.parts[0];
  Scan scan = Scan::kMore;
  size_t tag = text.find(first, looked_to_);
  for (; tag != std::string_view::npos; tag = text.find(first, tag + 1)) {
    *behind = tag;
    scan = TakePartsHere(text, close.parts, behind);
    if (scan == Scan::kFound) scan = AnyOfStandsAt(text, syntax_->behind_value, *behind);
    if (scan != Scan::kNotHere) break;
  }
  if (tag == std::string_view::npos) {
    scan = Scan::kMore;
    tag = text.size() - BegunSize(text.substr(looked_to_), first);
  }
  looked_to_ = tag;
  // The white space before the closing text is the template's, not the value's; all of it or a
  // part.
  const std::string_view value = text.substr(value_begin_, tag - value_begin_);
  const size_t space = value.ends_with(close.space) ? close.space.size()
                       : scan == Scan::kFound       ? 0
                                                    : BegunSize(value, close.space);
  *end = tag - space;
  return scan;
}

std::string PairReader::OtherValue(const std::string& text) const {
  const LearnedCalls& calls = syntax_->calls;
  if (calls.string_open == calls.other_open && calls.strings == Strings::kRaw) {
    return types_->Value(members_.back().key, text);
  }
  for (const auto& json : {std::optional<std::string>(text), JsonOfPython(text)}) {
    if (json && ParseLimitedJson(*json, "a value")) return *json;
  }
  return JsonString(text);
}

}  // namespace cairn
