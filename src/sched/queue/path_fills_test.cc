// Conversations that are larger than the cache's memory, or that the disk is slow to return.

#include "sched/queue/path_loads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "testing/sched/server_life.h"

namespace cairn::path_fills_test {
namespace {

using test::Bench;
using test::Join;
using test::Text;
using Life = test::ServerLife;

constexpr size_t kTurns = 6;
constexpr size_t kTurnTokens = 500;
constexpr size_t kTurnBytes = (kTurnTokens + 20) * sizeof(uint64_t);
constexpr LineageId kFirstLife = LineageId{1} << 20;
constexpr LineageId kSecondLife = LineageId{2} << 20;

FakeEngineOptions Engine(MemoryClass memory_class, size_t slots = 2) {
  FakeEngineOptions options = Bench::EngineOptions(memory_class);
  options.slots = slots;
  options.context_tokens = 8192;
  return options;
}

// A conversation whose segments are on disk: one or more for each turn, as another one takes the
// only slot after each.
struct Saved {
  explicit Saved(MemoryClass memory_class) {
    Life life(&disk, Engine(memory_class, 1), kFirstLife);
    for (size_t turn = 0; turn < kTurns; ++turn) {
      prompt = Join(prompt, Text(kTurnTokens, static_cast<char>('a' + turn)));
      const Bench::Answer answer = life.Ask(Bench::Request(prompt, 20));
      prompt = Join(prompt, test::TokensOf(answer.text));
      life.Ask(Bench::Request(Text(50, 'o'), 1));
    }
    life.SaveAll();
  }

  test::FakeDisk disk;
  Tokens prompt;
};

class PathFillsTest : public testing::TestWithParam<MemoryClass> {
 protected:
  // A budget that holds what finds the objects, and the KV of three turns.
  CacheOptions LittleMemory() {
    const auto life = Restart(&saved_, CacheOptions{});
    life->Ask(Bench::Request(Text(10, 'q'), 1));  // takes in what is on disk
    CacheOptions options;
    options.ram_bytes_max = life->cache_stats().bytes + 3 * kTurnBytes;
    return options;
  }
  std::unique_ptr<Life> Restart() { return Restart(&saved_, LittleMemory()); }
  static std::unique_ptr<Life> Restart(Saved* saved, const CacheOptions& options,
                                       size_t slots = 2) {
    return std::make_unique<Life>(&saved->disk, Engine(GetParam(), slots), kSecondLife,
                                  ReuseMode::kLive, "near-end,user-turns", options);
  }
  GenerationRequest NextTurn() const {
    return Bench::Request(Join(saved_.prompt, Text(40, 'z')), 20);
  }

  Saved saved_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Memory, PathFillsTest,
                         testing::Values(MemoryClass::kAttention, MemoryClass::kHybrid),
                         [](const auto& memory) {
                           return std::string(MemoryClassName(memory.param));
                         });

TEST_P(PathFillsTest, AConversationLargerThanTheMemoryComesBackWithoutAWaitOfTheThreadThatAnswers) {
  Saved same(GetParam());
  const std::string expected = Restart(&same, CacheOptions{})->Ask(NextTurn()).text;
  const auto life = Restart();
  const auto running = life->Submit(Bench::Request(Text(64, 'r'), 200));
  for (int i = 0; i < 5; ++i) life->StepAndSave();
  const size_t before = saved_.disk.reads_waited_for();
  const auto stored = life->Submit(NextTurn());
  life->StepUntilNothingIsLeft();
  EXPECT_EQ(saved_.disk.reads_waited_for(), before);
  const Bench::Answer answer = Bench::Collect(stored.get());
  EXPECT_EQ(answer.text, expected);
  EXPECT_GT(answer.end.cost.reused_tokens, kTurns * kTurnTokens - 64);
  ASSERT_NE(answer.end.report, nullptr);
  EXPECT_EQ(answer.end.report->path, ReuseReport::Path::kAssembled);
  EXPECT_GT(answer.end.report->disk_tokens, 0u) << "the report says where the state came from";
  EXPECT_EQ(Bench::Collect(running.get()).end.kind, GenerationEvent::Kind::kDone);
  life->CheckInvariants();
}

TEST_P(PathFillsTest, AnswersGoOnBetweenTheParts) {
  const auto life = Restart();
  const auto running = life->Submit(Bench::Request(Text(64, 'r'), 300));
  for (int i = 0; i < 5; ++i) life->StepAndSave();
  static_cast<void>(Bench::Collect(running.get()));
  const auto stored = life->Submit(NextTurn());
  size_t steps = 0;
  while (life->stats().slots.empty() ||
         stored->Next(std::chrono::milliseconds(0)) == std::nullopt) {
    ASSERT_TRUE(life->StepAndSave());
    ++steps;
  }
  EXPECT_GE(steps, kTurns) << "a part a step";
  EXPECT_GE(Bench::Collect(running.get()).text.size(), steps - 2) << "a token a step";
  life->StepUntilNothingIsLeft();
  life->CheckInvariants();
}

TEST_P(PathFillsTest, TheOnlySlotIsFilledWhileNothingElseRuns) {
  const auto life = Restart(&saved_, LittleMemory(), 1);
  const auto stored = life->Submit(NextTurn());
  std::thread context_thread([&life] { life->Run(); });
  std::optional<GenerationEvent> event = stored->Next(std::chrono::seconds(30));
  while (event && (event->kind == GenerationEvent::Kind::kProgress ||
                   event->kind == GenerationEvent::Kind::kText)) {
    event = stored->Next(std::chrono::seconds(30));
  }
  life->Stop();
  context_thread.join();
  ASSERT_TRUE(event.has_value()) << "no answer came";
  EXPECT_EQ(event->kind, GenerationEvent::Kind::kDone);
  EXPECT_GT(event->cost.reused_tokens, kTurns * kTurnTokens - 64);
}

TEST_P(PathFillsTest, ARequestThatIsCancelledLeavesAnEmptySlot) {
  const auto life = Restart();
  saved_.disk.SetReads(false);
  const auto stored = life->Submit(NextTurn());
  life->StepUntilNothingIsLeft();
  stored->Cancel();
  life->StepUntilNothingIsLeft();
  life->CheckInvariants();
  saved_.disk.SetReads(true);
  EXPECT_EQ(life->Ask(Bench::Request(Text(300, 'n'), 8)).text.size(), 8u);
  EXPECT_GT(life->Ask(NextTurn()).end.cost.reused_tokens, kTurns * kTurnTokens - 64);
  life->CheckInvariants();
}

TEST_P(PathFillsTest, APartThatCannotBeReadCostsPrefillAndNoMore) {
  const auto life = Restart();
  const auto names = saved_.disk.names();
  for (const ObjectName& name : names) {
    const ObjectHeader& header = saved_.disk.header(name);
    if (header.kind == ObjectKind::kSegment && header.begin > 2 * kTurnTokens) {
      saved_.disk.LoseUnnoticed(name);
    }
  }
  const Bench::Answer answer = life->Ask(NextTurn());
  EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
  EXPECT_EQ(answer.text.size(), 20u);
  life->CheckInvariants();
}

TEST_P(PathFillsTest, ARequestWaitsForADiskThatHangsNoLongerThanItsPrefillWouldTake) {
  for (const CacheOptions& options : {LittleMemory(), CacheOptions{}}) {
    const auto life = Restart(&saved_, options);
    saved_.disk.SetReads(false);
    const size_t before = saved_.disk.reads_waited_for();
    const auto stored = life->Submit(NextTurn());
    for (int i = 0; i < 20'000; ++i) life->StepAndSave();
    const Bench::Answer answer = Bench::Collect(stored.get());
    EXPECT_EQ(answer.end.kind, GenerationEvent::Kind::kDone);
    EXPECT_EQ(answer.text.size(), 20u);
    EXPECT_EQ(saved_.disk.reads_waited_for(), before);
    saved_.disk.SetReads(true);
    life->StepUntilNothingIsLeft();
    life->CheckInvariants();
  }
}

}  // namespace
}  // namespace cairn::path_fills_test
