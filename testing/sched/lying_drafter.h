// LyingDrafter: drafts random tokens of FakeEngine's first two letters, of random lengths.

#ifndef CAIRN_TESTING_SCHED_LYING_DRAFTER_H_
#define CAIRN_TESTING_SCHED_LYING_DRAFTER_H_

#include <cstddef>
#include <memory>
#include <random>

#include "sched/draft/drafter.h"

namespace cairn::test {

class LyingDrafter final : public Drafter {
 public:
  Draft Propose(const DraftPoint& at, const DraftLength& length_of) override {
    const TokenSpan text = at.text;
    Draft draft;
    const size_t length = length_of(draft.source, random_() % 6);
    for (size_t i = 0; i < length; ++i) {
      draft.tokens.push_back('a' + static_cast<Token>((random_() + text.size()) % 2));
    }
    return draft;
  }

 private:
  std::mt19937_64 random_{1};
};

// A DrafterFactory, which takes its argument by value.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
inline std::unique_ptr<Drafter> MakeLyingDrafter(AnswerStart /*start*/) {
  return std::make_unique<LyingDrafter>();
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_LYING_DRAFTER_H_
