// The scheduler's handling of a client's marks.

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::Text;

GenerationRequest Marked(size_t tokens, size_t mark, double keep_ms) {
  GenerationRequest request = Bench::Request(Text(tokens));
  request.shape.turns = {{mark, true}};
  request.shape.marks = {{mark, keep_ms}};
  return request;
}

TEST(ClientMarks, KeepTheCheckpointAtTheirPlaceForTheirTime) {
  Bench bench;
  bench.Run(Marked(600, 300, 1000));
  EXPECT_EQ(bench.cache.stats().kept, 1u);
  bench.clock.Advance(999);
  bench.Run(Bench::Request(Text(100, 'y')));
  EXPECT_EQ(bench.cache.stats().kept, 1u);
  bench.clock.Advance(1);
  bench.Run(Bench::Request(Text(100, 'z')));
  EXPECT_EQ(bench.cache.stats().kept, 0u);
}

TEST(ClientMarks, BeginAnewWithEveryRequestThatHasThem) {
  Bench bench;
  bench.Run(Marked(600, 300, 1000));
  bench.clock.Advance(900);
  // No token is left to prefill, but it counts as a use.
  EXPECT_EQ(bench.Run(Marked(600, 300, 1000)).end.cost.prefill_tokens(), 0u);
  bench.clock.Advance(900);
  bench.Run(Bench::Request(Text(100, 'y')));
  EXPECT_EQ(bench.cache.stats().kept, 1u);
}

TEST(ClientMarks, AreToldAsKeptWhereTheyAre) {
  Bench bench;
  EXPECT_EQ(bench.Run(Bench::Request(Text(600, 'y'))).end.cost.kept_tokens, 0u);
  const size_t kept = bench.Run(Marked(600, 300, 1000)).end.cost.kept_tokens;
  EXPECT_GT(kept, 200u);
  EXPECT_LE(kept, 300u);
  // Nothing is prefilled.
  EXPECT_EQ(bench.Run(Marked(600, 300, 1000)).end.cost.kept_tokens, kept);
}

TEST(ClientMarks, WhereNothingIsStoredKeepNothing) {
  Bench bench(MemoryClass::kAttention);
  EXPECT_EQ(bench.Run(Marked(600, 300, 1000)).end.cost.kept_tokens, 0u);
  EXPECT_EQ(bench.cache.stats().kept, 0u);
  EXPECT_EQ(bench.cache.stats().keeps_refused, 0u);
}

TEST(ClientMarks, BeyondFourAreNotObeyed) {
  Bench bench;
  GenerationRequest request = Bench::Request(Text(1000));
  for (size_t i = 1; i <= 6; ++i) {
    request.shape.turns.push_back({i * 128, true});
    request.shape.marks.push_back({i * 128, 1000});
  }
  bench.Run(std::move(request));
  EXPECT_EQ(bench.cache.stats().kept, kMarksMax);
}

TEST(Scheduler, TellsAFullContextFromAReachedLimit) {
  Bench bench;
  EXPECT_FALSE(bench.Run(Bench::Request(Text(100), 8)).end.context_full);
  const auto full = bench.Run(Bench::Request(Text(4000), 5000));
  EXPECT_EQ(full.end.reason, FinishReason::kLength);
  EXPECT_TRUE(full.end.context_full);
}

}  // namespace
}  // namespace cairn
