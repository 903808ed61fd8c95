#include "api/grammar/rules/rule_sheet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/grammar/rules/json_grammar.h"
#include "base/utf8.h"

namespace cairn {
namespace {

// Escapes of a class with more ranges than these are those of its largest ones.
constexpr size_t kEscapedRangesMax = 60;
// Choices at one place: the matcher follows 1,000 parses, and each may be three.
constexpr size_t kSheetChoicesMax = 250;

// Returns rules for four hexadecimal digits, or the last of them, from `low` to `high`.
void AppendHex(std::string_view low, std::string_view high, const std::string& front,
               std::vector<std::string>* choices) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto digit = [&](char from, char to) {
    std::string held;
    for (size_t i = kDigits.find(from); i <= kDigits.find(to); ++i) {
      held += kDigits[i];
      if (i >= 10) held += static_cast<char>(kDigits[i] - 'a' + 'A');
    }
    if (held.size() == 22) held = "0-9a-fA-F";
    return "[" + held + "]";
  };
  const auto with = [&](const std::string& more) {
    return front.empty() ? more : front + " " + more;
  };
  if (low.empty()) return choices->push_back(front);
  const std::string zeros(low.size() - 1, '0');
  const std::string highest(low.size() - 1, 'f');
  const auto free = [&](char from, char to) {
    std::string all = with(digit(from, to));
    if (zeros.size() == 1) all += " [0-9a-fA-F]";
    if (zeros.size() > 1) all += " [0-9a-fA-F]{" + std::to_string(zeros.size()) + "}";
    choices->push_back(all);
  };
  if (low[0] == high[0]) {
    const bool all = low.substr(1) == zeros && high.substr(1) == highest;
    if (all) return free(low[0], low[0]);
    return AppendHex(low.substr(1), high.substr(1), with(digit(low[0], low[0])), choices);
  }
  size_t from = kDigits.find(low[0]);
  size_t to = kDigits.find(high[0]);
  if (low.substr(1) != zeros) {
    AppendHex(low.substr(1), highest, with(digit(low[0], low[0])), choices);
    ++from;
  }
  if (high.substr(1) != highest) --to;
  if (from <= to) free(kDigits[from], kDigits[to]);
  if (high.substr(1) != highest) {
    AppendHex(zeros, high.substr(1), with(digit(high[0], high[0])), choices);
  }
}

std::string FourHex(uint32_t unit) {
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) text += "0123456789abcdef"[unit >> shift & 15];
  return text;
}

void AppendUnits(uint32_t low, uint32_t high, const std::string& front,
                 std::vector<std::string>* choices) {
  AppendHex(FourHex(low), FourHex(high), front, choices);
}

// Appends the escapes of characters beyond the first 65,536: pairs of surrogates.
void AppendPairs(uint32_t low, uint32_t high, std::vector<std::string>* choices) {
  const auto first = [](uint32_t c) { return 0xD800 + ((c - 0x10000) >> 10); };
  const auto second = [](uint32_t c) { return 0xDC00 + ((c - 0x10000) & 0x3FF); };
  const auto add = [&](uint32_t from, uint32_t to, uint32_t second_from, uint32_t second_to) {
    std::vector<std::string> firsts;
    std::vector<std::string> seconds;
    AppendUnits(from, to, "", &firsts);
    AppendUnits(second_from, second_to, "", &seconds);
    std::string pair;
    for (const std::string& one : firsts) pair += (pair.empty() ? "(" : " | ") + one;
    pair += R"() "\\u" ()";
    for (size_t i = 0; i < seconds.size(); ++i) pair += (i == 0 ? "" : " | ") + seconds[i];
    choices->push_back(pair + ")");
  };
  uint32_t from = first(low);
  uint32_t to = first(high);
  if (from == to) return add(from, to, second(low), second(high));
  if (second(low) != 0xDC00) {
    add(from, from, second(low), 0xDFFF);
    ++from;
  }
  if (second(high) != 0xDFFF) {
    add(to, to, 0xDC00, second(high));
    --to;
  }
  if (from <= to) add(from, to, 0xDC00, 0xDFFF);
}

std::string AnyOf(const std::vector<std::string>& choices) {
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : " | ") + choice;
  return all;
}

// Returns an expression for the digits of escapes beyond ASCII.
std::string WideEscapes(const CodePoints& characters) {
  std::vector<CodeRange> ranges = characters.ranges();
  if (ranges.size() > kEscapedRangesMax) {
    std::stable_sort(ranges.begin(), ranges.end(), [](const CodeRange& a, const CodeRange& b) {
      return a.high - a.low > b.high - b.low;
    });
    ranges.resize(kEscapedRangesMax);
  }
  std::vector<std::string> units;
  for (const CodeRange& range : ranges) {
    if (range.low < 0x10000) {
      AppendUnits(range.low, std::min(range.high, uint32_t{0xFFFF}), "", &units);
    }
    if (range.high >= 0x10000) {
      AppendPairs(std::max(range.low, uint32_t{0x10000}), range.high, &units);
    }
  }
  return AnyOf(units);
}

// Returns an expression for what may follow the backslash of an escape. `once` returns a rule's
// name.
template <typename Once>
std::string Escapes(const CodePoints& characters, Once once) {
  static const auto* const ascii = new CodePoints({{0, 0x7F}});
  std::vector<std::string> choices;
  std::string same;
  for (const char c : std::string_view("\"\\/")) {
    if (!characters.Holds(static_cast<uint32_t>(c))) continue;
    same += c == '/' ? "/" : std::string("\\") + c;
  }
  if (!same.empty()) choices.push_back("[" + same + "]");
  std::string letters;
  constexpr std::string_view kControls = "\b\f\n\r\t";
  for (size_t i = 0; i < kControls.size(); ++i) {
    if (characters.Holds(static_cast<uint32_t>(kControls[i]))) letters += "bfnrt"[i];
  }
  if (!letters.empty()) choices.push_back("[" + letters + "]");
  std::vector<std::string> narrow;
  for (const CodeRange& range : characters.And(*ascii).ranges()) {
    AppendHex(FourHex(range.low).substr(2), FourHex(range.high).substr(2), "", &narrow);
  }
  if (!narrow.empty()) choices.push_back("\"u00\" (" + AnyOf(narrow) + ")");
  const CodePoints wide = characters.And(ascii->Not());
  if (!wide.empty()) choices.push_back("\"u\" " + once(WideEscapes(wide)));
  return AnyOf(choices);
}

std::string InClass(uint32_t c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (c < 0x20 || c == 0x7F || c == '^') {
    return std::string("\\x") + kHex[c >> 4] + kHex[c & 15];
  }
  std::string text;
  if (c == '"' || c == '\\' || c == '[' || c == ']' || c == '-') text = "\\";
  AppendUtf8(c, &text);
  return text;
}

std::string ClassInside(const CodePoints& characters) {
  std::string inside;
  for (const CodeRange& range : characters.ranges()) {
    inside += InClass(range.low);
    if (range.high > range.low)
      inside += (range.high > range.low + 1 ? "-" : "") + InClass(range.high);
  }
  return inside;
}

// Returns how many elements repetitions add, at `at` in a rule, which is a '{'.
size_t RepeatedElements(std::string_view rule, size_t at) {
  size_t least = 0;
  size_t most = 0;
  size_t* number = &least;
  for (++at; at < rule.size() && rule[at] != '}'; ++at) {
    if (rule[at] == ',') number = &most;
    if (rule[at] != ',') *number = *number * 10 + static_cast<size_t>(rule[at] - '0');
  }
  // A part that may be missing is a rule of its own.
  return least + 4 * (most > least ? most - least : 0);
}

// Returns about how many elements a Grammar needs for a rule. Adds the characters whose shared
// rules (JsonCharacterRule) it uses.
size_t ElementsOf(std::string_view rule, std::set<std::string, std::less<>>* characters) {
  size_t elements = 2;
  bool in_literal = false;
  bool in_class = false;
  bool in_name = false;
  for (size_t i = 0; i < rule.size(); ++i) {
    const char c = rule[i];
    if (in_literal || in_class) {
      if (c == '\\') ++i;
      if (in_literal && c != '"') ++elements;
      if (c == (in_literal ? '"' : ']')) in_literal = in_class = false;
      continue;
    }
    const bool name = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    if (name && !in_name) ++elements;
    if (c == 'x' && !in_name) {
      const size_t end = std::min(rule.find_first_of(" )|*+?{", i), rule.size());
      const std::string_view used = rule.substr(i, end - i);
      if (!characters->contains(used)) characters->emplace(used);
    }
    in_name = name;
    if (c == '"') in_literal = true;
    if (c == '[') in_class = true;
    if (c == '[' || c == '|') ++elements;
    if (c == '(' || c == '*' || c == '+' || c == '?') elements += 4;
    if (c != '{') continue;
    elements += RepeatedElements(rule, i);
    i = std::min(rule.find('}', i), rule.size());
  }
  return elements;
}

}  // namespace

std::string GbnfClass(const CodePoints& characters) {
  // Surrogates are in no text, so a negated class may hold them.
  const std::string inside = ClassInside(characters);
  const std::string others = "^" + ClassInside(characters.Not());
  return "[" + (others.size() < inside.size() ? others : inside) + "]";
}

std::vector<std::string> JsonCharacters(std::string_view text) {
  std::vector<std::string> elements;
  for (const char32_t c : CodePointsOf(text)) elements.push_back(JsonCharacterRule(c));
  return elements;
}

void RuleSheet::Add(const std::string& name, std::string_view rule) {
  if (full()) return;
  elements_ += ElementsOf(rule, &characters_);
  text_ += name;
  text_ += " ::= ";
  text_ += rule;
  text_ += '\n';
}

std::string RuleSheet::Once(const std::string& rule) {
  const auto [known, is_new] = known_.try_emplace(rule);
  if (is_new) {
    known->second = Name();
    Add(known->second, rule);
  }
  return known->second;
}

std::string RuleSheet::Joined(std::vector<std::vector<std::string>> sequences,
                              const std::string& free) {
  // A stable order, by the first of those that begin alike.
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  widest_ = 0;
  std::string all = Branches(sequences, 0, sequences.size(), 0);
  if (widest_ <= kSheetChoicesMax) return all;
  wide_ = true;
  return free;
}

// Returns an expression for the sequences [from, to), which have their first `at` elements in
// common.
std::string RuleSheet::Branches(const std::vector<std::vector<std::string>>& sorted, size_t from,
                                size_t to, size_t at) {
  std::string common;
  while (at < sorted[from].size()) {
    const bool same = sorted[to - 1].size() > at && sorted[to - 1][at] == sorted[from][at];
    if (!same) break;
    common += sorted[from][at++] + " ";
  }
  std::string choices;
  size_t count = 0;
  size_t rules = 0;
  for (size_t i = from; i < to; ++count) {
    size_t end = i + 1;
    // A rule may begin in several ways.
    if (sorted[i].size() > at && sorted[i][at].starts_with(prefix_ + "n")) ++rules;
    if (sorted[i].size() > at) {
      while (end < to && sorted[end].size() > at && sorted[end][at] == sorted[i][at]) ++end;
    }
    choices += choices.empty() ? "" : " | ";
    choices += sorted[i].size() > at ? Branches(sorted, i, end, at) : std::string(R"("")");
    i = end;
  }
  widest_ = std::max({widest_, rules, count / 2});
  if (count == 1 && sorted[from].size() == at) {
    if (!common.empty()) common.pop_back();
    return common.empty() ? R"("")" : common;
  }
  return common + Once(choices);
}

std::string RuleSheet::JsonCharacter(const CodePoints& characters, bool odd) {
  static const auto* const all = new CodePoints(CodePoints::All());
  static const auto* const raw =
      new CodePoints(CodePoints({{'"', '"'}, {'\\', '\\'}, {0, 0x1F}}).Not());
  if (characters == *all && !odd) return "char";
  const auto single = characters.Single();
  if (single && !odd) return JsonCharacterRule(*single);
  CodePoints plain = characters.And(*raw);
  std::string rule;
  // Where a tag could be written, its first character is a choice of its own: GbnfWithoutTags.
  const bool tag = plain.Holds('<') && plain.Holds('|');
  if (tag) plain = plain.And(CodePoints::One('<').Not());
  const std::string mark = odd ? "~" : "";
  if (!plain.empty()) rule = mark + GbnfClass(plain) + " | ";
  if (tag) rule += mark + "\"<\" | ";
  // Escapes are odd where every character can be written as it is.
  if (odd || characters.And(raw->Not()).empty()) rule += '~';
  return Once(rule + R"("\\" )" +
              Once(Escapes(characters, [this](const std::string& text) { return Once(text); })));
}

template <typename One>
std::string RuleSheet::Chain(const Dfa& texts, const std::string& end, size_t loop_max, One one,
                             const std::string& begun_end) {
  const std::vector<Dfa::State>& states = texts.states();
  // A class of nothing, because a rule of nothing would be the empty text.
  if (texts.empty()) return kNoText;
  // The states by which each state is left, and with which characters.
  std::vector<std::map<uint32_t, std::vector<CodeRange>>> next(states.size());
  std::vector<size_t> entries(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    for (const Dfa::Edge& edge : states[i].edges) next[i][edge.to].push_back({edge.low, edge.high});
    for (const auto& [to, ranges] : next[i]) ++entries[to];
  }
  std::vector<std::string> names(states.size());
  const auto name_of = [&](uint32_t state) -> const std::string& {
    if (names[state].empty()) names[state] = Name();
    return names[state];
  };
  // A state with one way in and one way on needs no rule.
  const auto inlined = [&](uint32_t state) {
    return state != 0 && entries[state] == 1 && !states[state].accepts && next[state].size() == 1 &&
           !next[state].contains(state);
  };
  const auto way = [&](const std::pair<const uint32_t, std::vector<CodeRange>>& first) {
    std::string text;
    const auto* at = &first;
    while (true) {
      text += one(CodePoints(at->second)) + " ";
      if (!inlined(at->first)) break;
      at = &*next[at->first].begin();
    }
    const uint32_t last = at->first;
    const bool ends = states[last].accepts && next[last].empty();
    return text + (ends ? end : name_of(last));
  };
  const std::string& first = name_of(0);
  for (uint32_t i = 0; i < states.size() && !full(); ++i) {
    const bool ends = states[i].accepts && next[i].empty();
    if (inlined(i) || (ends && i != 0)) continue;
    std::string own = name_of(i);
    std::string rule;
    if (loop_max > 0 && next[i].contains(i)) {
      // So often at most; what comes behind the loop is a rule of its own.
      const std::string again = one(CodePoints(next[i][i])) + GbnfTimes(0, loop_max);
      own = Name();
      Add(name_of(i), Once(again) + " " + own);
    }
    for (const auto& edge : next[i]) {
      if (own != names[i] && edge.first == i) continue;  // the loop is written
      rule += (rule.empty() ? "" : " | ") + way(edge);
    }
    if (states[i].accepts) {
      const bool begun = !begun_end.empty() && !next[i].contains(i);
      rule += (rule.empty() ? "" : " | ") + (begun ? begun_end : end);
    }
    Add(own, rule);
  }
  return first;
}

std::string RuleSheet::JsonString(const Dfa& texts, bool odd) {
  const bool wide = std::any_of(
      texts.states().begin(), texts.states().end(),
      [](const Dfa::State& state) { return state.edges.size() > 2 * kSheetChoicesMax; });
  if (wide && !texts.IsEverything()) {
    wide_ = true;
    return "string";
  }
  return R"("\"" )" + Chain(
                          texts, R"("\"")", 0,
                          [&](const CodePoints& held) { return JsonCharacter(held, odd); },
                          odd ? R"(~"\"")" : "");
}

std::string RuleSheet::JsonName(const Dfa& texts) {
  static const auto* const raw =
      new CodePoints(CodePoints({{'"', '"'}, {'\\', '\\'}, {'<', '<'}, {0, 0x1F}}).Not());
  const std::vector<Dfa::State>& states = texts.states();
  if (texts.empty()) return kNoText;
  const std::string rest = Once(R"(char* "\"")");
  const auto once = [this](const std::string& text) { return Once(text); };
  const std::string escape = Once(R"(~"\\" ()" + Escapes(CodePoints::All(), once) + ") " + rest);
  std::vector<std::string> names;
  for (size_t i = 0; i < states.size(); ++i) names.push_back(Name());
  for (size_t i = 0; i < states.size() && !full(); ++i) {
    std::map<uint32_t, std::vector<CodeRange>> next;
    for (const Dfa::Edge& edge : states[i].edges) next[edge.to].push_back({edge.low, edge.high});
    std::string rule = escape;
    for (const auto& [to, ranges] : next) {
      const CodePoints held = CodePoints(ranges).And(*raw);
      if (!held.empty()) rule += " | ~" + GbnfClass(held) + " " + names[to];
    }
    const bool begun = !next.contains(static_cast<uint32_t>(i));
    if (states[i].accepts) rule += begun ? R"( | ~"\"")" : R"( | "\"")";
    Add(names[i], rule);
  }
  return R"("\"" )" + names[0];
}

std::string RuleSheet::RawText(const Dfa& texts, const std::string& behind, bool odd) {
  return Chain(texts, behind, 0,
               [odd](const CodePoints& held) { return (odd ? "~" : "") + GbnfClass(held); });
}

std::string RuleSheet::Digits(const Dfa& texts, bool whole) {
  constexpr size_t kDigitsMax = 60;
  return Chain(texts, R"("")", kDigitsMax, [whole](const CodePoints& held) {
    return (whole && held.Single() == uint32_t{'.'} ? "~" : "") + GbnfClass(held);
  });
}

}  // namespace cairn
