// Moved attention KV: answers longer than their context, and prompts whose text stood at another
// position. Moved tokens serve only their own slot.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "testing/base/played_share.h"
#include "testing/sched/scheduler_fixture.h"

namespace cairn::decoder_shift_test {
namespace {

using test::Bench;
using test::Join;
using test::Text;

constexpr size_t kContext = 512;

Tokens RandomText(size_t tokens, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tokens text(tokens);
  for (Token& token : text) token = static_cast<Token>('a' + random() % 26);
  return text;
}

FakeEngineOptions SmallContext(size_t slots = 1) {
  FakeEngineOptions engine = test::Slots(slots, MemoryClass::kAttention);
  engine.context_tokens = kContext;
  return engine;
}

SchedulerOptions Shifting() {
  SchedulerOptions options;
  options.context_shift = true;
  return options;
}

SchedulerOptions Moving(size_t tokens_min) {
  SchedulerOptions options;
  options.slots.move_tokens_min = tokens_min;
  return options;
}

// Returns the slot's tokens after `answer`, whose last token is sampled and not decoded.
Tokens HeldAfter(Tokens held, const std::string& answer, size_t keep) {
  for (size_t i = 0; i + 1 < answer.size(); ++i) {
    if (held.size() + 1 >= kContext) {
      const size_t count = (held.size() - keep) / 2;
      const auto begin = held.begin() + static_cast<ptrdiff_t>(keep);
      held.erase(begin, begin + static_cast<ptrdiff_t>(count));
    }
    held.push_back(answer[i]);
  }
  return held;
}

std::string ColdAnswer(const FakeEngineOptions& engine, const Tokens& prompt,
                       ReuseMode reuse = ReuseMode::kLive) {
  SchedulerOptions options;
  options.reuse = reuse;
  Bench cold(engine, options);
  return cold.Run(Bench::Request(prompt)).text;
}

TEST(ContextShift, LetsAnAnswerGoOnPastTheEndOfItsContext) {
  Bench ends(SmallContext(), {});
  const auto cut = ends.Run(Bench::Request(Text(300), 1000));
  EXPECT_EQ(cut.text.size(), kContext - 300);
  EXPECT_TRUE(cut.end.context_full);
  Bench goes_on(SmallContext(), Shifting());
  const auto whole = goes_on.Run(Bench::Request(Text(300), 1000));
  EXPECT_EQ(whole.text.size(), 1000u);
  EXPECT_EQ(whole.text.substr(0, cut.text.size()), cut.text);
  EXPECT_FALSE(whole.end.context_full);
  EXPECT_EQ(whole.end.reason, FinishReason::kLength);
  // 511 tokens are too many: 255 are dropped, then 256 of 512 each time.
  EXPECT_EQ(goes_on.scheduler.stats().slot_counters.shifted, 4u);
  EXPECT_EQ(whole.end.cost.shifted_tokens, 4u * 255);
  EXPECT_EQ(goes_on.scheduler.stats().slots[0].tokens, 300 + 999 - 4u * 255);
}

TEST(ContextShift, EndsAnAnswerWithoutALimitAtTheLengthThatTheModelWasTrainedWith) {
  Bench bench(SmallContext(), Shifting());
  const auto answer = bench.Run(Bench::Request(Text(300), SIZE_MAX));
  EXPECT_EQ(answer.text.size(), kContext - 300);
  EXPECT_TRUE(answer.end.context_full);
}

TEST(ContextShift, KeepsWhatIsToBeKept) {
  const Tokens prompt = RandomText(300, 1);
  Bench bench(SmallContext(), Shifting());
  GenerationRequest request = Bench::Request(prompt, 600);
  request.params.keep_tokens = 128;
  const auto answer = bench.Run(std::move(request));
  ASSERT_EQ(answer.text.size(), 600u);
  // The kept tokens keep the state of their prefill: a prompt with the same beginning resumes from
  // there.
  const Tokens next = Join(Tokens(prompt.begin(), prompt.begin() + 128), Text(50, 'u'));
  const auto again = bench.Run(Bench::Request(next));
  EXPECT_EQ(again.end.cost.reused_tokens, 128u);
  EXPECT_EQ(again.text, ColdAnswer(SmallContext(), next));
  // Keeping the complete prompt leaves half of the answer to be dropped.
  GenerationRequest all = Bench::Request(prompt, 600);
  all.params.keep_tokens = -1;
  EXPECT_EQ(bench.Run(std::move(all)).text.size(), 600u);
  EXPECT_GE(bench.Run(Bench::Request(Join(prompt, Text(9, 'u')))).end.cost.reused_tokens, 256u);
}

TEST(ContextShift, IsNothingThatAnotherPromptEverGets) {
  for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kAny}) {
    SCOPED_TRACE(static_cast<int>(reuse));
    SchedulerOptions options = Shifting();
    options.reuse = reuse;
    const Tokens prompt = RandomText(300, 1);
    Bench offloaded(SmallContext(), options);
    const auto answer = offloaded.Run(Bench::Request(prompt, 600));
    const Tokens held = HeldAfter(prompt, answer.text, 0);
    ASSERT_EQ(held.size(), offloaded.scheduler.stats().slots[0].tokens);
    const Tokens next = Join(held, Text(20, 'u'));
    // Another conversation uses the slot in between.
    offloaded.Run(Bench::Request(RandomText(400, 2)));
    const auto after = offloaded.Run(Bench::Request(next));
    EXPECT_EQ(after.end.cost.reused_tokens, 0u);
    EXPECT_EQ(after.text, ColdAnswer(SmallContext(), next, reuse));

    Bench beside(SmallContext(2), options);
    GenerationRequest first = Bench::Request(prompt, 600);
    first.slot = 0;
    EXPECT_EQ(beside.Run(std::move(first)).text, answer.text);
    // The slot itself may continue.
    GenerationRequest own = Bench::Request(next);
    own.slot = 0;
    EXPECT_EQ(beside.Run(std::move(own)).end.cost.reused_tokens, held.size());
    GenerationRequest other = Bench::Request(next);
    other.slot = 1;
    const auto forked = beside.Run(std::move(other));
    EXPECT_EQ(forked.end.cost.reused_tokens, 0u);
    EXPECT_EQ(forked.text, ColdAnswer(SmallContext(2), next, reuse));
  }
}

TEST(ContextShift, LeavesAloneWhatAnotherSlotShares) {
  const Tokens header = RandomText(400, 1);
  const FakeEngineOptions engine = SmallContext(2);
  Bench bench(engine, Shifting());
  bench.Run(Bench::Request(header, 1));
  std::vector<GenerationRequest> requests;
  for (const char letter : {'u', 'v'}) {
    requests.push_back(Bench::Request(Join(header, Text(20, letter)), letter == 'u' ? 900 : 60));
  }
  const auto answers = bench.RunTogether(requests);
  EXPECT_GT(bench.scheduler.stats().slot_counters.forked, 0u);
  EXPECT_EQ(answers[0].text.size(), 900u);
  EXPECT_GT(answers[0].end.cost.shifted_tokens, 0u);
  // The other's answer is the same as without a shift.
  Bench still(engine, {});
  still.Run(Bench::Request(header, 1));
  EXPECT_EQ(answers[1].text, still.RunTogether(requests)[1].text);
}

TEST(ContextShift, HasNoEffectOnMemoriesThatCannotBeMoved) {
  for (const MemoryClass memory_class :
       {MemoryClass::kHybrid, MemoryClass::kRecurrent, MemoryClass::kSlidingWindow}) {
    FakeEngineOptions engine = SmallContext();
    engine.memory_class = memory_class;
    SchedulerOptions options = Shifting();
    options.slots.move_tokens_min = 16;
    Bench bench(engine, options);
    EXPECT_EQ(bench.Run(Bench::Request(Text(300), 1000)).text.size(), kContext - 300);
    const Tokens rest = RandomText(200, 2);
    bench.Run(Bench::Request(Join(RandomText(100, 1), rest)));
    EXPECT_EQ(bench.Run(Bench::Request(Join(rest, Text(1)))).end.cost.reused_tokens, 0u);
  }
}

// A client that removes an old message.
struct Shortened {
  Tokens header = RandomText(200, 1);
  Tokens old = RandomText(100, 2);
  Tokens rest = RandomText(300, 3);
  Tokens before = Join(Join(header, old), rest);
  Tokens after = Join(Join(header, rest), Text(40, 'u'));
};

FakeEngineOptions Attention() {
  return Bench::EngineOptions(MemoryClass::kAttention);
}

TEST(CacheReuse, MovesWhatThePromptHasElsewhere) {
  const Shortened client;
  Bench plain(Attention(), {});
  plain.Run(Bench::Request(client.before));
  EXPECT_EQ(plain.Run(Bench::Request(client.after)).end.cost.reused_tokens, 192u);
  Bench moving(Attention(), Moving(64));
  moving.Run(Bench::Request(client.before));
  const auto moved = moving.Run(Bench::Request(client.after));
  EXPECT_EQ(moved.end.cost.reused_tokens, 500u);
  EXPECT_EQ(moving.scheduler.stats().slot_counters.moved, 1u);
  // The answer differs from that of a prefill.
  EXPECT_NE(moved.text, ColdAnswer(Attention(), client.after));
  // The slot continues from there.
  const Tokens next =
      Join(Join(client.after, Tokens(moved.text.begin(), moved.text.end())), Text(40, 'v'));
  EXPECT_GE(moving.Run(Bench::Request(next)).end.cost.reused_tokens, client.after.size());
}

TEST(CacheReuse, LeavesShortChunksToBeRead) {
  const Shortened client;
  Bench bench(Attention(), Moving(301));
  bench.Run(Bench::Request(client.before));
  EXPECT_EQ(bench.Run(Bench::Request(client.after)).end.cost.reused_tokens, 192u);
  EXPECT_EQ(bench.scheduler.stats().slot_counters.moved, 0u);
}

TEST(CacheReuse, IsNothingThatAnotherPromptEverGets) {
  for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kAny}) {
    SCOPED_TRACE(static_cast<int>(reuse));
    const Shortened client;
    FakeEngineOptions engine = Attention();
    engine.slots = 2;
    SchedulerOptions options = Moving(64);
    options.reuse = reuse;
    Bench bench(engine, options);
    bench.Run(Bench::Request(client.before));
    const auto moved = bench.Run(Bench::Request(client.after));
    ASSERT_EQ(bench.scheduler.stats().slot_counters.moved, 1u);
    // In the other slot, beside it; the complete prompt was never prefilled.
    GenerationRequest beside = Bench::Request(client.after);
    beside.slot = 1 - moved.end.slot;
    const auto forked = bench.Run(std::move(beside));
    EXPECT_LE(forked.end.cost.reused_tokens, client.header.size());
    // `any` cuts at any position, and each cut changes bits.
    if (reuse == ReuseMode::kAny) continue;
    EXPECT_EQ(forked.text, ColdAnswer(engine, client.after));
    // Also when neither is in a slot any more.
    for (const size_t slot : {size_t{0}, size_t{1}}) {
      GenerationRequest other = Bench::Request(RandomText(800, 7 + slot));
      other.slot = slot;
      bench.Run(std::move(other));
    }
    EXPECT_EQ(bench.Run(Bench::Request(client.after)).text, forked.text);
  }
}

TEST(CacheReuse, MovesNothingForARequestThatWantsNoReuse) {
  const Shortened client;
  Bench bench(Attention(), Moving(64));
  bench.Run(Bench::Request(client.before));
  GenerationRequest cold = Bench::Request(client.after);
  cold.reuse = false;
  const auto answer = bench.Run(std::move(cold));
  EXPECT_EQ(answer.end.cost.reused_tokens, 0u);
  EXPECT_EQ(answer.text, ColdAnswer(Attention(), client.after));
}

// Slots that share, shift, move and are preempted for lack of room: the engine refuses to move
// cells that another slot shares, and no request fails.
TEST(CacheReuse, AndShiftingGoTogetherWithSharedSlotsAndLittleRoom) {
  uint64_t moved = 0;
  uint64_t shifted = 0;
  uint64_t forked = 0;
  for (uint64_t seed = 0; seed < test::Played(30); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    FakeEngineOptions engine = SmallContext(3);
    engine.cells = kContext + kContext / 2;
    SchedulerOptions options = Shifting();
    options.slots.move_tokens_min = 32;
    options.reuse = random() % 2 == 0 ? ReuseMode::kLive : ReuseMode::kAny;
    Bench bench(engine, options);
    const Tokens header = RandomText(100 + random() % 200, seed);
    const Tokens parts[] = {RandomText(60, 1), RandomText(80, 2), RandomText(40, 3)};
    for (int round = 0; round < 12; ++round) {
      std::vector<GenerationRequest> requests;
      for (size_t i = 0; i <= random() % 3; ++i) {
        Tokens prompt = header;
        for (const Tokens& part : parts) {
          if (random() % 3 > 0) prompt = Join(prompt, part);
        }
        prompt = Join(prompt, RandomText(1 + random() % 20, random()));
        requests.push_back(Bench::Request(prompt, random() % 4 == 0 ? 600 : 20));
        requests.back().params.keep_tokens = static_cast<int64_t>(random() % 300) - 1;
      }
      for (const auto& answer : bench.RunTogether(requests)) {
        ASSERT_EQ(answer.end.kind, GenerationEvent::Kind::kDone) << answer.end.error.message;
      }
    }
    bench.cache.CheckInvariants();
    moved += bench.scheduler.stats().slot_counters.moved;
    shifted += bench.scheduler.stats().slot_counters.shifted;
    forked += bench.scheduler.stats().slot_counters.forked;
  }
  EXPECT_GT(moved, test::Played(10));
  EXPECT_GT(shifted, test::Played(10));
  EXPECT_GT(forked, test::Played(10));
}

}  // namespace
}  // namespace cairn::decoder_shift_test
