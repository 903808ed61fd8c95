#include "sched/answer/generation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::open_generations_test {
namespace {

using test::Bench;
using test::Slots;
using test::Text;

constexpr std::chrono::milliseconds kNow(0);
constexpr std::chrono::milliseconds kPatience(30'000);
const Error kLost = {ErrorCode::kUnavailable, "the worker is lost"};

GenerationEvent TextEvent(const std::string& text) {
  GenerationEvent event;
  event.text = text;
  return event;
}

void ExpectLost(Generation* generation) {
  const auto event = generation->Next(kNow);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, GenerationEvent::Kind::kFailed);
  EXPECT_EQ(event->error.code, kLost.code);
  EXPECT_EQ(event->error.message, kLost.message);
}

TEST(OpenGenerations, ThatFailEndBehindTheEventsThatCameBefore) {
  OpenGenerations open;
  const auto generation = std::make_shared<Generation>();
  open.Add(generation);
  generation->Push(TextEvent("came before"));
  open.FailAll(kLost);
  generation->Push(TextEvent("comes too late"));
  EXPECT_EQ(generation->Next(kNow)->text, "came before");
  EXPECT_EQ(generation->AwaitKind(kNow), GenerationEvent::Kind::kFailed);
  ExpectLost(generation.get());
  ExpectLost(generation.get());
}

TEST(OpenGenerations, ThatComeAfterwardsFailToo) {
  OpenGenerations open;
  open.FailAll(kLost);
  const auto generation = std::make_shared<Generation>();
  open.Add(generation);
  ExpectLost(generation.get());
}

TEST(OpenGenerations, ThatNobodyTakesEventsOfAreLeftOut) {
  OpenGenerations open;
  open.Add(std::make_shared<Generation>());
  const auto kept = std::make_shared<Generation>();
  open.Add(kept);
  open.FailAll(kLost);
  ExpectLost(kept.get());
}

TEST(OpenGenerations, ThatFailWakeTheThreadThatWaits) {
  OpenGenerations open;
  const auto generation = std::make_shared<Generation>();
  open.Add(generation);
  std::thread fails([&] { open.FailAll(kLost); });
  const auto event = generation->Next(kPatience);
  fails.join();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, GenerationEvent::Kind::kFailed);
}

TEST(LostEngine, EndsRequestsThatRunAndThatWait) {
  Bench bench(Slots(1, MemoryClass::kAttention), {});
  const auto running = *bench.scheduler.Submit(Bench::Request(Text(700), 100));
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(bench.scheduler.Step());
  const auto waiting = *bench.scheduler.Submit(Bench::Request(Text(300), 100));
  // On another thread, while the context thread is inside the engine.
  std::thread([&] { bench.scheduler.LoseEngine(kLost); }).join();
  std::optional<GenerationEvent> last;
  while (auto event = running->Next(kNow)) {
    last = event;
    if (event->kind == GenerationEvent::Kind::kFailed) break;
  }
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->error.message, kLost.message);
  ExpectLost(waiting.get());
}

TEST(LostEngine, IsToldToRequestsThatComeLater) {
  Bench bench(Slots(1, MemoryClass::kAttention), {});
  bench.scheduler.LoseEngine(kLost);
  const auto refused = bench.scheduler.Submit(Bench::Request(Text(300), 8));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cairn::open_generations_test
