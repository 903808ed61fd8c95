#include "sched/request/prefetch_prompt.h"

#include <gtest/gtest.h>

#include <random>

namespace cairn {
namespace {

TEST(PrefetchBudget, LendsAFirstFewTokens) {
  const PrefetchBudget budget({.first_tokens = 500});
  EXPECT_EQ(budget.Allowed(0), 500u);
}

TEST(PrefetchBudget, LendsAQuarterOfWhatRequestsRead) {
  PrefetchBudget budget({.first_tokens = 0});
  budget.OnComputed(1000);
  EXPECT_EQ(budget.Allowed(0), 250u);
  budget.OnPrefetched(200, 0);
  EXPECT_EQ(budget.Allowed(0), 50u);
}

TEST(PrefetchBudget, IsRepaidByRequestsThatGoOnFromWhatWasReadAhead) {
  PrefetchBudget budget({.first_tokens = 0});
  budget.OnComputed(1000);
  budget.OnPrefetched(250, 0);
  EXPECT_EQ(budget.Allowed(0), 0u);
  budget.OnUsed(200);
  EXPECT_EQ(budget.Allowed(0), 250u);
}

TEST(PrefetchBudget, NeverLetsTheMachineReadMoreThanAQuarterAboveWhatItWouldHave) {
  std::mt19937_64 random(7);
  PrefetchBudget budget({.first_tokens = 100});
  uint64_t read = 0;
  uint64_t prefetched = 0;
  uint64_t used = 0;
  for (int i = 0; i < 10'000; ++i) {
    const size_t read_now = random() % 500;
    read += read_now;
    budget.OnComputed(read_now);
    const size_t prefetched_now = std::min<size_t>(budget.Allowed(0), random() % 2000);
    prefetched += prefetched_now;
    budget.OnPrefetched(prefetched_now, 0);
    const size_t used_now = random() % (prefetched_now + 1);
    used += used_now;
    budget.OnUsed(used_now);
    ASSERT_LE(static_cast<double>(read + prefetched), 1.25 * static_cast<double>(read + used) + 101)
        << "after " << i;
  }
  EXPECT_GT(prefetched, 100'000u);
}

TEST(PrefetchBudget, KeepsToTokensAMinute) {
  PrefetchBudget budget({.first_tokens = 100'000, .tokens_per_minute = 600});
  EXPECT_EQ(budget.Allowed(0), 600u);
  budget.OnPrefetched(600, 0);
  EXPECT_EQ(budget.Allowed(0), 0u);
  EXPECT_EQ(budget.Allowed(1000), 10u);
  EXPECT_EQ(budget.Allowed(60'000), 600u);
  EXPECT_EQ(budget.Allowed(600'000), 600u);
  EXPECT_EQ(budget.LoanLeft(), 99'400u);
}

PrefetchedPrompt Prefetched(size_t begin, size_t end, NamespaceId name_space = 1) {
  return {{name_space, Tokens(500, 'x'), 100, false}, {{begin, end}}};
}

TEST(PrefetchedPrompts, CountWhatARequestIsSparedOnce) {
  PrefetchedPrompts prefetched;
  prefetched.Add(Prefetched(200, 448));
  EXPECT_EQ(prefetched.Take(2, Tokens(600, 'x'), 448), 0u) << "another namespace";
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'y'), 448), 0u) << "another conversation";
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'x'), 448), 248u);
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'x'), 448), 0u);
}

TEST(PrefetchedPrompts, CountOnlyWhatIsReused) {
  PrefetchedPrompts prefetched;
  prefetched.Add(Prefetched(200, 448));
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'x'), 320), 120u);
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'x'), 448), 0u) << "the one before has read the rest";
}

TEST(PrefetchedPrompts, CountWhatIsBehindAForkForWhoeverGoesThatWay) {
  PrefetchedPrompts prefetched;
  prefetched.Add(Prefetched(200, 448));
  Tokens fork(300, 'x');
  fork.resize(600, 'f');
  EXPECT_EQ(prefetched.Take(1, fork, 256), 56u);
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'x'), 448), 148u);
}

TEST(PrefetchedPrompts, CountWhatSeveralHaveInCommonOnce) {
  PrefetchedPrompts prefetched;
  prefetched.Add(Prefetched(200, 320));
  prefetched.Add(Prefetched(256, 384));
  PrefetchedPrompt unfinished = Prefetched(384, 448);
  EXPECT_EQ(prefetched.Take(1, Tokens(600, 'x'), 448, &unfinished), 248u);
  EXPECT_TRUE(unfinished.chunks.empty());
}

}  // namespace
}  // namespace cairn
