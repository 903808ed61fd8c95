// Grammar: what an answer may be, in GBNF, llama.cpp's notation, and how far an answer has come.
//
//   root   ::= "[" number ("," number)* "]"
//   number ::= [0-9]{1,3}
//
// libllama has a grammar sampler too. A grammar is a client's text, though, and that one loops for
// ever, eats all memory or overflows the stack on some; see docs/decisions/0018-own-grammar.md.

#ifndef CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_
#define CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace cairn {

// Constant after Parse; any thread.
class Grammar {
 public:
  static constexpr size_t kTextBytesMax = size_t{1} << 20;
  static constexpr size_t kElementsMax = 200000;
  static constexpr size_t kNestingMax = 100;

  // Literals, classes, '.', groups, alternatives, * + ? {m} {m,} {m,n}, comments. Not: tokens in
  // angle brackets. kInvalidArgument: what is wrong, and in which line; also a rule that begins
  // with itself, and one that can be read in too many ways at once.
  static Result<std::shared_ptr<const Grammar>> Parse(std::string_view text,
                                                      std::string_view root = "root");

 private:
  friend class GrammarParser;
  friend class GrammarMatcher;

  struct Range {
    uint32_t low = 0;
    uint32_t high = 0;
  };
  struct CharClass {
    bool negated = false;
    std::vector<Range> ranges;

    bool Holds(uint32_t character) const;
    // Whether any of [low, high] is held.
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
};

// How far one answer has come. Not thread-safe; a copy goes its own way.
class GrammarMatcher {
 public:
  // Ways of reading one answer that are followed at once; where there are more, none is.
  static constexpr size_t kWaysMax = 1000;
  // Steps taken for one Accept, so that a grammar cannot hold up other answers for long.
  static constexpr size_t kStepsMax = 5000000;

  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  // Whether `bytes` may come next. They may end inside a character, and begin where the last ended.
  // Nothing is allowed once kStepsMax are taken.
  bool Allows(std::string_view bytes);
  // REQUIRES: Allows(bytes).
  void Accept(std::string_view bytes);
  // As Accept, where the text may have been cut inside a character: what there is of it is taken
  // back. False: the bytes are not allowed even so,
  // and nothing has changed. REQUIRES: there are some.
  bool AcceptAfterCut(std::string_view bytes);
  // Whether the answer may end here.
  bool MayEnd() const;

 private:
  friend class GrammarParser;
  // A stack of elements still to come: the topmost, and the stack below.
  using StackId = uint32_t;
  using WaysId = uint32_t;
  static constexpr StackId kBottom = 0;  // nothing is to come
  static constexpr WaysId kNone = 0;     // no way

  struct Stack {
    uint32_t element = 0;
    StackId below = 0;
  };
  // Where in a text: the ways of reading it, and the character begun.
  struct Place {
    WaysId ways = kNone;
    uint32_t bits = 0;    // of the character begun
    uint32_t low = 0;     // the least that a character of its length may be
    uint8_t missing = 0;  // bytes
  };

  StackId Push(uint32_t element, StackId below);
  WaysId Intern(std::vector<StackId> ways);
  // The stacks whose topmost element is a class, or the bottom, that `open` leads to.
  WaysId Close(std::vector<StackId> open);
  WaysId CloseRule(uint32_t rule);
  WaysId Next(WaysId ways, uint32_t character);
  Place Walk(Place place, std::string_view bytes);
  bool MayBegin(const Place& place) const;
  // Forgets all but where it is.
  void Compact();

  std::shared_ptr<const Grammar> grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint64_t, StackId> stack_ids_;
  std::vector<std::vector<StackId>> ways_;
  std::map<std::vector<StackId>, WaysId> ways_ids_;
  std::unordered_map<uint64_t, WaysId> next_;  // of ways and a character
  size_t stacks_limit_ = 0;                    // of stacks_, before it is compacted
  size_t held_ = 0;                            // stacks in ways_, all together
  size_t opened_ = 0;                          // stacks looked at since the last Accept
  Place place_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_
