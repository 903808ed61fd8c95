// GrammarStates: where texts lead in a grammar, found when it is first asked and kept from then on.
//
//   ways --character--> ways
//
// "Ways" are all parses of one text at once; equal ones are one. Answers in the same grammar share
// the states, so that what one answer found the next ones need not find again.

#ifndef CAIRN_ENGINE_GRAMMAR_GRAMMAR_STATES_H_
#define CAIRN_ENGINE_GRAMMAR_GRAMMAR_STATES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/grammar/grammar.h"

namespace cairn {

// Not thread-safe.
class GrammarStates {
 public:
  using WaysId = uint32_t;
  static constexpr WaysId kNone = 0;  // no parse
  static constexpr uint32_t kLastCharacter = 0x10FFFF;
  // The most parses of one text that are followed at once; text that has more is not allowed.
  static constexpr size_t kWaysMax = 5000;
  // The most steps that one search may take, so that a grammar cannot delay other answers for long.
  static constexpr size_t kStepsMax = 5000000;

  explicit GrammarStates(std::shared_ptr<const Grammar> grammar);

  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }
  // The parses of an empty text. Adds to `steps`, and returns kNone beyond kStepsMax, as all below.
  WaysId Root(size_t* steps);
  // The parses with which a rule begins.
  WaysId CloseRule(uint32_t rule, size_t* steps);
  // Those behind a character.
  WaysId Next(WaysId ways, uint32_t character, size_t* steps) {
    if (character < kAscii && tables_[ways] != nullptr) {
      const WaysId known = tables_[ways]->ascii[character];
      if (known != kUnknown) return known;
    }
    return FindNext(ways, character, steps);
  }
  // Those of `ways` whose next character is no odd form.
  WaysId WithoutOdd(WaysId ways);
  // Whether any character of [low, high] may come next.
  bool HoldsAnyOf(WaysId ways, uint32_t low, uint32_t high) const;
  bool MayEnd(WaysId ways) const;
  // The parses that `ways` are in `other`, which is of the same grammar.
  WaysId CopyOf(const GrammarStates& other, WaysId ways);
  // Whether so much is kept that its owner had better begin anew.
  bool is_full() const;
  // About as many bytes as it takes.
  size_t bytes() const;

 private:
  // A stack of elements still to come: the topmost one, and the stack below.
  using StackId = uint32_t;
  static constexpr StackId kBottom = 0;  // no element is to come
  static constexpr uint32_t kAscii = 0x80;
  static constexpr WaysId kUnknown = UINT32_MAX;

  struct Stack {
    uint32_t element = 0;
    StackId below = 0;
  };
  struct Span {
    uint32_t low = 0;
    uint32_t high = 0;
    WaysId next = kNone;
  };
  // The known steps from some ways. Characters that no class of the ways tells apart are found
  // together.
  struct Table {
    std::array<WaysId, kAscii> ascii;
    std::vector<Span> rest;  // in order
  };

  StackId Push(uint32_t element, StackId below);
  WaysId Intern(std::vector<StackId> ways);
  // Returns the stacks that `open` leads to whose topmost element is a class, or the bottom.
  WaysId Close(std::vector<StackId> open, size_t* steps);
  WaysId FindNext(WaysId ways, uint32_t character, size_t* steps);
  // The characters around one that are in the same classes of the ways.
  Span SpanAround(WaysId ways, uint32_t character) const;
  const Grammar::CharClass& ClassOf(StackId id) const {
    return grammar_->classes_[grammar_->elements_[stacks_[id].element].index];
  }

  const std::shared_ptr<const Grammar> grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<uint64_t, StackId> stack_ids_;
  std::vector<std::vector<StackId>> ways_;
  std::map<std::vector<StackId>, WaysId> ways_ids_;
  std::vector<std::unique_ptr<Table>> tables_;  // by ways; null until one is asked for
  std::vector<WaysId> without_odd_;             // by ways; shorter where none has been asked for
  size_t table_count_ = 0;
  size_t span_count_ = 0;  // in all tables
  size_t held_ = 0;        // stacks in ways_, in total
  size_t stacks_max_ = 0;  // at which it is full
  WaysId root_ = kUnknown;
};

// KeptGrammarStates: the states of the grammars that were last used. Not thread-safe.
class KeptGrammarStates {
 public:
  static constexpr size_t kGrammarsMax = 16;
  static constexpr size_t kBytesMax = size_t{64} << 20U;

  // Returns the states of this grammar: those that its last answers left, or new ones.
  std::shared_ptr<GrammarStates> Of(const std::shared_ptr<const Grammar>& grammar);

 private:
  std::list<std::shared_ptr<GrammarStates>> kept_;  // the last used first
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRAMMAR_GRAMMAR_STATES_H_
