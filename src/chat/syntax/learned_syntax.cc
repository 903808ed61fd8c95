#include "chat/syntax/learned_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kStartBytesMin = 4;

void Append(const SyntaxPartList& more, SyntaxPartList* parts) {
  parts->insert(parts->end(), more.begin(), more.end());
}

void AppendFirst(const SyntaxPartList& more, SyntaxPartList* parts) {
  if (!more.empty()) parts->push_back(more[0]);
}

// The value follows the text.
ValueEdge EdgeBefore(const std::string& text) {
  const size_t end = text.find_last_not_of(kCallWhiteSpace) + 1;
  return {SyntaxParts(text.substr(0, end)), text.substr(end)};
}

// The value precedes the text.
ValueEdge EdgeBehind(const std::string& text) {
  const size_t begin = std::min(text.find_first_not_of(kCallWhiteSpace), text.size());
  return {SyntaxParts(text.substr(begin)), text.substr(0, begin)};
}

// Returns the tag in the singular if it is in the plural, or else in the plural; empty if it speaks
// of no calls. Both are in use for most families.
std::string Respelled(std::string_view tag) {
  for (const auto& [one, other] : std::array<std::pair<std::string_view, std::string_view>, 4>{
           {{"tool_calls", "tool_call"},
            {"tool_call", "tool_calls"},
            {"function_calls", "function_call"},
            {"function_call", "function_calls"}}}) {
    const size_t at = tag.find(one);
    if (at == std::string_view::npos) continue;
    return std::string(tag.substr(0, at)) + std::string(other) +
           std::string(tag.substr(at + one.size()));
  }
  return "";
}

SyntaxPartList Spellings(const std::string& part) {
  SyntaxPartList spellings = {part};
  if (std::string other = Respelled(part); !other.empty()) spellings.push_back(std::move(other));
  return spellings;
}

bool IsListBracket(const std::string& part) {
  return part == "[" || part == "]";
}

}  // namespace

Scan TakeParts(std::string_view text, const SyntaxPartList& parts, size_t* at) {
  size_t i = *at;
  for (const std::string& part : parts) {
    i = SkipWhiteSpace(text, i);
    const Scan scan = TakeWord(text, part, &i);
    if (scan != Scan::kFound) return scan;
  }
  *at = i;
  return Scan::kFound;
}

Scan TakePartsHere(std::string_view text, const SyntaxPartList& parts, size_t* at) {
  if (parts.empty()) return Scan::kFound;
  size_t i = *at;
  const Scan first = TakeWord(text, parts[0], &i);
  if (first != Scan::kFound) return first;
  const Scan rest = TakeParts(text, {parts.begin() + 1, parts.end()}, &i);
  if (rest == Scan::kFound) *at = i;
  return rest;
}

Scan TakeUntilParts(std::string_view text, const SyntaxPartList& parts, size_t bytes_max,
                    size_t* at, std::string* passed) {
  for (size_t i = *at; i <= *at + bytes_max; ++i) {
    if (i >= text.size()) return Scan::kMore;
    size_t end = i;
    const Scan scan = TakePartsHere(text, parts, &end);
    if (scan == Scan::kMore) return scan;
    if (scan == Scan::kNotHere) continue;
    *passed = text.substr(*at, i - *at);
    *at = end;
    return Scan::kFound;
  }
  return Scan::kNotHere;
}

Scan TakePresent(std::string_view text, const std::vector<SyntaxPartList>& parts, size_t* at) {
  size_t i = *at;
  for (const SyntaxPartList& spellings : parts) {
    for (const std::string& spelling : spellings) {
      const Scan scan = TakeParts(text, {spelling}, &i);
      if (scan == Scan::kMore) return scan;
      if (scan == Scan::kFound) break;
    }
  }
  *at = i;
  return Scan::kFound;
}

Scan AnyOfStandsAt(std::string_view text, const SyntaxPartList& texts, size_t at) {
  const size_t begin = SkipWhiteSpace(text, at);
  Scan any = Scan::kNotHere;
  for (const std::string& part : texts) {
    size_t end = begin;
    const Scan scan = TakeWord(text, part, &end);
    if (scan == Scan::kFound) return scan;
    if (scan == Scan::kMore) any = scan;
  }
  return any;
}

LearnedSyntax::LearnedSyntax(LearnedCalls learned)
    : calls(std::move(learned)),
      id_delimiter(SyntaxParts(calls.id_delimiter)),
      name_end(SyntaxParts(calls.name_end)),
      block_close(SyntaxParts(calls.block_close)),
      key_open(SyntaxParts(calls.key_open)),
      pair_between(SyntaxParts(calls.pair_between)),
      string_open(EdgeBefore(calls.string_open)),
      string_close(EdgeBehind(calls.string_close)),
      other_open(EdgeBefore(calls.other_open)),
      other_type_end(SyntaxParts(calls.other_type_end)),
      other_close(EdgeBehind(calls.other_close)) {
  std::string call_open = calls.call_open;
  std::string call_close = calls.call_close;
  if (calls.is_object()) {
    call_open.resize(call_open.rfind('{', call_open.find(calls.name_key)));
    call_close.erase(0, call_close.find('}') + 1);
  }
  // Models leave the name space out, or write it where the template does not: see ReadName.
  if (call_open.ends_with(kFunctionsPrefix))
    call_open.resize(call_open.size() - kFunctionsPrefix.size());
  const SyntaxPartList open = SyntaxParts(call_open);
  next = SyntaxParts(calls.between);
  Append(open, &next);
  FindEnds(call_close);

  AddStart(calls.block_open + call_open);
  AddStart(call_open);
  // for example, <function= or <invoke name="
  if (!open.empty() && !open.back().ends_with('>')) AddStart(open.back());
  if (!calls.block_open.empty()) AddRespelledStart();
  FindAlternatives();
}

// Finds the parts behind the arguments and behind all calls.
void LearnedSyntax::FindEnds(const std::string& call_close) {
  close = SyntaxParts(call_close);
  braces = calls.strings == LearnedCalls::Strings::kQuoted && key_open.empty() &&
           !name_end.empty() && name_end.back() == "{" && !close.empty() && close[0] == "}";
  if (braces) {
    name_end.pop_back();
    close.erase(close.begin());
  }
  respelled_block_close = block_close;
  bool respelled = false;
  for (std::string& part : respelled_block_close) {
    if (std::string other = Respelled(part); !other.empty()) {
      part = std::move(other);
      respelled = true;
    }
  }
  if (!respelled) respelled_block_close.clear();
  for (const SyntaxPartList* parts : {&close, &block_close}) {
    for (const std::string& part : *parts) {
      if (!IsListBracket(part)) behind_objects.push_back(Spellings(part));
    }
  }
}

void LearnedSyntax::FindAlternatives() {
  if (calls.id == LearnedCalls::Id::kBehindName) AppendFirst(id_delimiter, &behind_name);
  AppendFirst(name_end, &behind_name);
  if (behind_name.empty() && calls.arguments == LearnedCalls::Arguments::kPairs) {
    AppendFirst(key_open, &behind_name);
    AppendFirst(close, &behind_name);
  }
  // Models leave out what precedes the arguments, or write JSON instead of pairs.
  behind_name.emplace_back("{");
  AppendFirst(pair_between, &behind_value);
  AppendFirst(key_open, &behind_value);
  AppendFirst(close, &pairs_end);
  for (size_t i = 1; i < close.size(); ++i) {
    // A tag that only closes calls closes one whose first tag is missing.
    const std::string& part = close[i];
    const bool in_pairs =
        (calls.key_open + calls.string_open + calls.string_close + calls.other_close).find(part) !=
        std::string::npos;
    if (part.starts_with('<') && part.ends_with('>') && !in_pairs) pairs_end.push_back(part);
  }
  Append(pairs_end, &behind_value);
}

void LearnedSyntax::AddStart(const std::string& opening) {
  SyntaxPartList parts = SyntaxParts(opening);
  if (parts.empty()) return;
  // A tag alone may begin other things too: <|open|>tools, <|open|>response.
  if (parts.size() > 1 && std::isalpha(static_cast<unsigned char>(parts[1][0])) != 0 &&
      opening.find(parts[0] + parts[1]) != std::string::npos) {
    parts[0] += parts[1];
    parts.erase(parts.begin() + 1);
  }
  const std::string& text = parts[0];
  const bool is_tag = text.size() >= kStartBytesMin && (text[0] == '<' || text[0] == '[');
  // A text that also occurs inside calls cannot begin one.
  for (const std::string* inside : {&calls.name_end, &calls.string_open, &calls.other_type_end,
                                    &calls.string_close, &calls.call_close}) {
    if (inside->find(text) != std::string::npos) return;
  }
  const bool known = std::any_of(starts.begin(), starts.end(), [&](const Start& start) {
    return start.text.starts_with(text) || text.starts_with(start.text);
  });
  if (!is_tag || known) return;
  Start start{text, {parts.begin() + 1, parts.end()}};
  // One object may stand without the brackets of a list.
  if (calls.is_object()) std::erase_if(start.rest, IsListBracket);
  starts.push_back(std::move(start));
}

// The block may also begin in the other number.
void LearnedSyntax::AddRespelledStart() {
  if (starts.empty()) return;
  const size_t before = starts.size();
  const std::string& first = starts[0].text;
  const std::string other = Respelled(first);
  if (other.empty()) return;
  std::string opening = other;
  for (const std::string& part : starts[0].rest) opening += " " + part;
  AddStart(opening);
  if (starts.size() > before) starts.back().respelled = true;
}

}  // namespace cairn
