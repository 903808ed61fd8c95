// RuleSheet: the rules of one schema in GBNF while they are written. Gives them names and keeps
// equal ones once.

#ifndef CAIRN_API_GRAMMAR_RULES_RULE_SHEET_H_
#define CAIRN_API_GRAMMAR_RULES_RULE_SHEET_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/grammar/pattern/code_points.h"
#include "api/grammar/pattern/dfa.h"

namespace cairn {

// An expression that no text matches.
inline constexpr const char* kNoText = R"([^\x00-\U0010FFFF])";

class RuleSheet {
 public:
  // All names begin with `prefix`. The sheet is full beyond `bytes_max`, and beyond a quarter as
  // many elements of a Grammar.
  RuleSheet(std::string prefix, size_t bytes_max)
      : prefix_(std::move(prefix)), bytes_max_(bytes_max) {}

  // Returns a new name.
  std::string Name() { return prefix_ + "n" + std::to_string(++names_); }
  void Add(const std::string& name, std::string_view rule);
  // Returns the name of a rule with this text, which it adds if there is none.
  std::string Once(const std::string& rule);
  bool full() const {
    // The rules of characters come behind those of the sheet.
    constexpr size_t kCharacterBytes = 60;
    const size_t bytes = text_.size() + kCharacterBytes * characters_.size();
    return bytes > bytes_max_ || elements_ + 12 * characters_.size() > bytes_max_ / 4;
  }
  const std::string& text() const { return text_; }
  // Whether something was left free because its choices are more parses at a time than a matcher
  // follows.
  bool wide() const { return wide_; }
  // Returns an expression for any one of some sequences of elements. What they have in common at
  // their begin is written once, so that few parses are followed at a time. Returns `free` if they
  // are still too many.
  std::string Joined(std::vector<std::vector<std::string>> sequences, const std::string& free);

  // Returns an expression for a character of a JSON string, raw or escaped. With `odd`, here and
  // below, all characters are marked as odd (engine/grammar/grammar.h).
  std::string JsonCharacter(const CodePoints& characters, bool odd = false);
  // Returns an expression for the texts of an automaton as a JSON string with its quotes, each
  // character raw or escaped.
  std::string JsonString(const Dfa& texts, bool odd = false);
  // The same in fewer rules, for names beside many others, which are odd: with an escape, or a '<',
  // which is written as one, a name may go on as it likes.
  std::string JsonName(const Dfa& texts);
  // Returns an expression for the texts as they are, then `behind`, an expression. An empty text
  // alone may end them.
  std::string RawText(const Dfa& texts, const std::string& behind, bool odd = false);
  // The same for numbers: a digit that could be repeated forever is repeated 60 times at most, so
  // that a model which repeats itself comes to an end. The point of a `whole` number is odd.
  std::string Digits(const Dfa& texts, bool whole);

 private:
  // Returns a rule for all of the automaton's texts, where each character is written by `one`, then
  // `end`. `loop_max` bounds how often a state leads to itself; 0 does not.
  // `begun_end`, if any, stands for `end` where a text is not yet one that goes on as it likes:
  // such a beginning may be that of a plain text too.
  template <typename One>
  std::string Chain(const Dfa& texts, const std::string& end, size_t loop_max, One one,
                    const std::string& begun_end = "");

  std::string Branches(const std::vector<std::vector<std::string>>& sorted, size_t from, size_t to,
                       size_t at);

  const std::string prefix_;
  const size_t bytes_max_;
  size_t names_ = 0;
  bool wide_ = false;
  size_t widest_ = 0;  // choices of one place in Joined
  std::string text_;
  size_t elements_ = 0;
  std::set<std::string, std::less<>> characters_;       // names of their shared rules
  std::unordered_map<std::string, std::string> known_;  // a rule's name by its text
};

// Returns a class of GBNF that holds the characters. REQUIRES: not empty.
std::string GbnfClass(const CodePoints& characters);
// Returns the elements of a text inside a JSON string, one a character, each of them raw or
// escaped: names of shared rules (api/grammar/rules/json_grammar.h).
std::vector<std::string> JsonCharacters(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_RULES_RULE_SHEET_H_
