// Grammar: a constraint on answers in GBNF, llama.cpp's notation. GrammarMatcher tracks one answer
// in it.
//
//   root   ::= "[" number ("," number)* "]"
//   number ::= [0-9]{1,3}
//
// One thing is our own: a '~' before a literal or a class marks its characters as an odd form of
// what can be written plainly. The model may write it of its own accord; where its token is refused
// and another one has to be found, odd forms are left out. Clients' grammars have none of it.
//
//   number ::= [0-9]{1,3} (~"." "0")?
//
// libllama has a grammar sampler too. But a grammar is a client's text, and libllama's sampler
// loops forever, exhausts memory or overflows the stack on some; see
// docs/decisions/0018-own-grammar.md.

#ifndef CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_
#define CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

class GrammarStates;
class TokenTrie;

// Constant after Parse; any thread.
class Grammar {
 public:
  static constexpr size_t kTextBytesMax = size_t{1} << 20;
  static constexpr size_t kElementsMax = 200000;
  static constexpr size_t kNestingMax = 100;

  // Supports literals, classes, '.', groups, alternatives, * + ? {m} {m,} {m,n} and comments, but
  // not tokens in angle brackets. kInvalidArgument with the fault and its line; also for a rule
  // that begins with itself, and for a grammar with too many simultaneous parses.
  static Result<std::shared_ptr<const Grammar>> Parse(std::string_view text,
                                                      std::string_view root = "root");
  // About as many bytes as it takes.
  size_t bytes() const;
  // Whether any form is marked as odd.
  bool has_odd_forms() const { return has_odd_; }

 private:
  friend class GrammarParser;
  friend class GrammarStates;

  struct Range {
    uint32_t low = 0;
    uint32_t high = 0;
  };
  struct CharClass {
    bool negated = false;
    bool odd = false;
    std::vector<Range> ranges = {};

    bool Holds(uint32_t character) const;
    // Whether any character of [low, high] is held.
    bool HoldsAnyOf(uint32_t low, uint32_t high) const;
  };
  struct Element {
    enum class Kind : uint8_t { kEnd, kClass, kRule };
    Kind kind = Kind::kEnd;
    uint32_t index = 0;  // of a class or a rule
  };
  struct Rule {
    std::vector<uint32_t> alternatives;  // index of the first element; each ends with kEnd
  };

  std::vector<Element> elements_;
  std::vector<CharClass> classes_;
  std::vector<Rule> rules_;
  uint32_t root_ = 0;
  bool has_odd_ = false;
};

// GrammarMatcher: the state of one answer in a grammar. Not thread-safe. Copies share what they
// find in the grammar, and so are for one thread together; otherwise they are independent.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);
  // Shares these states, which are not null, until they are full.
  explicit GrammarMatcher(std::shared_ptr<GrammarStates> states);

  // Whether `bytes` may come next. They may end inside a character, and begin where the last ended.
  // Nothing is allowed once GrammarStates::kStepsMax steps are taken.
  bool Allows(std::string_view bytes);
  // Sets in `allowed`, which has a place for each token, those of `trie` that Allows would allow.
  // Much faster than to ask for each. Returns whether there are any.
  bool Allowed(const TokenTrie& trie, std::vector<bool>* allowed);
  // The same without those that write a form marked as odd.
  bool AllowedPlainly(const TokenTrie& trie, std::vector<bool>* allowed);
  // REQUIRES: Allows(bytes).
  void Accept(std::string_view bytes);
  // As Accept, where the text may have been cut inside a character: the begun character is dropped
  // first. Returns false if the bytes are not allowed even so; then nothing has changed. REQUIRES:
  // `bytes` is not empty.
  bool AcceptAfterCut(std::string_view bytes);
  // Whether the answer may end here.
  bool MayEnd() const;

 private:
  // A position in a text: the parses so far, and the begun character.
  struct Place {
    uint32_t ways = 0;    // of GrammarStates
    uint32_t bits = 0;    // of the begun character
    uint32_t low = 0;     // the lowest code point that a character of its length may have
    uint8_t missing = 0;  // bytes of the character still to come
  };

  template <bool kPlainly>
  bool FindAllowed(const TokenTrie& trie, std::vector<bool>* allowed);
  Place Step(Place place, uint8_t byte);
  Place Walk(Place place, std::string_view bytes);
  bool MayBegin(const Place& place) const;
  void MakeRoom();

  std::shared_ptr<GrammarStates> states_;
  size_t steps_ = 0;  // since the last Accept
  Place place_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_
