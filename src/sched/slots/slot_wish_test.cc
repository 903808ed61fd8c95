// Requests that name a slot, and slots that clients erase.

#include <gtest/gtest.h>

#include <future>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::slot_wish_test {
namespace {

using test::Bench;
using test::Text;

FakeEngineOptions Slots(size_t slots) {
  FakeEngineOptions options = Bench::EngineOptions(MemoryClass::kHybrid);
  options.slots = slots;
  return options;
}

GenerationRequest In(std::optional<size_t> slot, Tokens prompt, size_t tokens_max = 8) {
  GenerationRequest request = Bench::Request(std::move(prompt), tokens_max);
  request.slot = slot;
  return request;
}

TEST(SlotWish, AFreeSlotIsTakenThoughAnotherHoldsThePrompt) {
  Bench bench(Slots(3), {});
  EXPECT_EQ(bench.Run(In(2, Text(300))).end.slot, 2u);
  const auto again = bench.Run(In(1, Text(300)));
  EXPECT_EQ(again.end.slot, 1u);
  EXPECT_GT(again.end.cost.reused_tokens, 0u);
  EXPECT_EQ(bench.Run(In({}, Text(40, 'y'))).end.slot, 0u);
}

TEST(SlotWish, IsNoMoreThanAHintWhileTheSlotIsBusy) {
  Bench bench(Slots(2), {});
  const auto answers = bench.RunTogether({In(1, Text(300)), In(1, Text(300, 'y'))});
  EXPECT_EQ(answers[0].end.slot, 1u);
  EXPECT_EQ(answers[1].end.slot, 0u);
}

TEST(SlotWish, ASlotThatIsNotThereIsRefused) {
  Bench bench(Slots(2), {});
  const auto submitted = bench.scheduler.Submit(In(2, Text(10)));
  ASSERT_FALSE(submitted.has_value());
  EXPECT_EQ(submitted.error().code, ErrorCode::kInvalidArgument);
}

struct Served {
  std::optional<size_t> slot = {};
  bool same_key_slot = false;
};

Served ServeKey(Bench* bench, uint64_t key, std::optional<size_t> slot, size_t tokens) {
  GenerationRequest request = In(slot, Text(tokens));
  request.cache_key = key;
  const auto generation = *bench->scheduler.Submit(std::move(request));
  while (bench->scheduler.Step()) {
  }
  Served served;
  while (const auto event = generation->Next(std::chrono::milliseconds(0))) {
    if (event->report) served.same_key_slot = event->report->same_key_slot;
    served.slot = event->slot;
  }
  return served;
}

TEST(SlotWish, OfSlotsThatCostTheSameTheKeysOwnIsTaken) {
  Bench bench(Slots(2), {});
  EXPECT_FALSE(ServeKey(&bench, 7, 0, 300).same_key_slot);
  EXPECT_FALSE(ServeKey(&bench, 8, 1, 300).same_key_slot);
  // Both hold the prompt, and slot 0 was unused for longer.
  const Served again = ServeKey(&bench, 8, {}, 300);
  EXPECT_EQ(again.slot, 1u);
  EXPECT_TRUE(again.same_key_slot);
  const Served other = ServeKey(&bench, 9, {}, 300);
  EXPECT_EQ(other.slot, 0u);
  EXPECT_FALSE(other.same_key_slot);
  // A key's slot is no reason to prefill.
  ServeKey(&bench, 5, 0, 10);
  EXPECT_EQ(ServeKey(&bench, 5, {}, 300).slot, 1u);
}

// Erases as an HTTP thread does, while this thread is the context thread.
Result<size_t> Erase(Bench* bench, size_t slot, NamespaceId name_space = 0) {
  auto erased = std::async(std::launch::async,
                           [&] { return bench->scheduler.slots().Erase(slot, name_space); });
  while (erased.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    bench->scheduler.Step();
  }
  return erased.get();
}

TEST(EraseSlot, DropsWhatTheSlotHoldsAndSaysHowMuch) {
  Bench bench(Slots(2), {});
  bench.Run(In(1, Text(300), 8));
  const auto erased = Erase(&bench, 1);
  ASSERT_TRUE(erased.has_value());
  EXPECT_EQ(*erased, 307u);  // the last sampled token was not decoded
  bench.scheduler.Step();
  EXPECT_EQ(bench.scheduler.stats().slots[1].tokens, 0u);
  EXPECT_EQ(*Erase(&bench, 1), 0u);
}

TEST(EraseSlot, AnotherClientsConversationStays) {
  Bench bench(Slots(2), {});
  bench.Run(In(1, Text(300), 8));
  const auto refused = Erase(&bench, 1, 7);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(*Erase(&bench, 0, 7), 0u) << "an empty one is nobody's";
  EXPECT_EQ(*Erase(&bench, 1), 307u);
}

TEST(EraseSlot, ABusySlotStaysAsItIs) {
  Bench bench(Slots(2), {});
  auto running = *bench.scheduler.Submit(In(0, Text(300), 4000));
  bench.scheduler.Step();
  const auto busy = Erase(&bench, 0);
  ASSERT_FALSE(busy.has_value());
  EXPECT_EQ(busy.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Erase(&bench, 7).error().code, ErrorCode::kInvalidArgument);
  bench.scheduler.Stop();
  EXPECT_EQ(bench.scheduler.slots().Erase(0, 0).error().code, ErrorCode::kUnavailable);
  bench.scheduler.Run();
}

}  // namespace
}  // namespace cairn::slot_wish_test
