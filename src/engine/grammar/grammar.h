// Grammar: a constraint on answers in GBNF, llama.cpp's notation. GrammarMatcher tracks one answer
// in it.
//
//   root   ::= "[" number ("," number)* "]"
//   number ::= [0-9]{1,3}
//
// libllama has a grammar sampler too. But a grammar is a client's text, and libllama's sampler
// loops forever, exhausts memory or overflows the stack on some; see
// docs/decisions/0018-own-grammar.md.

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

  // Supports literals, classes, '.', groups, alternatives, * + ? {m} {m,} {m,n} and comments, but
  // not tokens in angle brackets. kInvalidArgument with the fault and its line; also for a rule
  // that begins with itself, and for a grammar with too many simultaneous parses.
  static Result<std::shared_ptr<const Grammar>> Parse(std::string_view text,
                                                      std::string_view root = "root");
  // About as many bytes as it takes.
  size_t bytes() const;

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
};

// GrammarMatcher: the state of one answer in a grammar. Not thread-safe; copies are independent.
class GrammarMatcher {
 public:
  // The most parses of one answer that are followed at once; text that has more is not allowed.
  static constexpr size_t kWaysMax = 1000;
  // The most steps for one Accept, so that a grammar cannot delay other answers for long.
  static constexpr size_t kStepsMax = 5000000;

  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  // Whether `bytes` may come next. They may end inside a character, and begin where the last ended.
  // Nothing is allowed once kStepsMax steps are taken.
  bool Allows(std::string_view bytes);
  // REQUIRES: Allows(bytes).
  void Accept(std::string_view bytes);
  // As Accept, where the text may have been cut inside a character: the begun character is dropped
  // first. Returns false if the bytes are not allowed even so; then nothing has changed. REQUIRES:
  // `bytes` is not empty.
  bool AcceptAfterCut(std::string_view bytes);
  // Whether the answer may end here.
  bool MayEnd() const;

 private:
  friend class GrammarParser;
  // A stack of elements still to come: the topmost one, and the stack below.
  using StackId = uint32_t;
  using WaysId = uint32_t;
  static constexpr StackId kBottom = 0;  // no element is to come
  static constexpr WaysId kNone = 0;     // no parse

  struct Stack {
    uint32_t element = 0;
    StackId below = 0;
  };
  // A position in a text: the parses so far, and the begun character.
  struct Place {
    WaysId ways = kNone;
    uint32_t bits = 0;    // of the begun character
    uint32_t low = 0;     // the lowest code point that a character of its length may have
    uint8_t missing = 0;  // bytes of the character still to come
  };

  StackId Push(uint32_t element, StackId below);
  WaysId Intern(std::vector<StackId> ways);
  // Returns the stacks that `open` leads to whose topmost element is a class, or the bottom.
  WaysId Close(std::vector<StackId> open);
  WaysId CloseRule(uint32_t rule);
  WaysId Next(WaysId ways, uint32_t character);
  Place Walk(Place place, std::string_view bytes);
  bool MayBegin(const Place& place) const;
  // Drops all stacks and parses except those of the present position.
  void Compact();

  std::shared_ptr<const Grammar> grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint64_t, StackId> stack_ids_;
  std::vector<std::vector<StackId>> ways_;
  std::map<std::vector<StackId>, WaysId> ways_ids_;
  std::unordered_map<uint64_t, WaysId> next_;  // by parses and a character
  size_t stacks_limit_ = 0;                    // size of stacks_ at which it is compacted
  size_t held_ = 0;                            // stacks in ways_, in total
  size_t opened_ = 0;                          // stacks opened since the last Accept
  Place place_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRAMMAR_GRAMMAR_H_
