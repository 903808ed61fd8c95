// Drafts through scheduler, cache and FakeEngine.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "testing/sched/scheduler_fixture.h"

namespace cairn {
namespace {

using test::Bench;
using test::kClasses;
using test::Slots;
using test::Text;

SchedulerOptions WithDrafts() {
  SchedulerOptions options;
  options.drafts.make = &MakeNgramDrafter;
  // The clock of these tests stands still, so nothing can be measured.
  options.drafts.adapts = false;
  return options;
}

// Of recurrent and hybrid memory, one that takes snapshots for all drafts, and one that rolls short
// ones back.
std::vector<FakeEngineOptions> EveryMemory() {
  std::vector<FakeEngineOptions> engines;
  for (const MemoryClass memory_class : kClasses) {
    engines.push_back(Bench::EngineOptions(memory_class));
    engines.push_back(engines.back());
    engines.back().rollback_states = 4;
  }
  return engines;
}

std::string NameOf(const FakeEngineOptions& engine) {
  return std::string(MemoryClassName(engine.memory_class)) + ", " +
         std::to_string(engine.rollback_states) + " states";
}

TEST(Speculation, ARequestThatIsSentAgainVerifiesTheEarlierAnswer) {
  for (const FakeEngineOptions& engine : EveryMemory()) {
    SCOPED_TRACE(NameOf(engine));
    Bench bench(engine, WithDrafts());
    const Bench::Answer first = bench.Run(Bench::Request(Text(300), 40));
    const Bench::Answer again = bench.Run(Bench::Request(Text(300), 40));
    EXPECT_EQ(again.text, first.text);
    EXPECT_EQ(again.end.cost.generated_tokens, 40u);
    // Of 40 tokens one is sampled from the prompt, and each decode gives one that was not drafted.
    EXPECT_GE(again.end.cost.accepted_tokens, 36u);
    EXPECT_EQ(again.end.cost.accepted_tokens, again.end.cost.drafted_tokens);
    const DraftStats stats = bench.scheduler.stats().drafts[0];
    EXPECT_EQ(stats.accepted_tokens, again.end.cost.accepted_tokens);
  }
}

// The slot must hold the answer and no token of the draft behind it.
TEST(Speculation, AnAnswerThatEndsInsideADraftGoesOnFromItsOwnEnd) {
  for (const FakeEngineOptions& engine : EveryMemory()) {
    SCOPED_TRACE(NameOf(engine));
    Bench plain(engine, {});
    Bench drafts(engine, WithDrafts());
    const std::string whole = plain.Run(Bench::Request(Text(300), 40)).text;
    ASSERT_EQ(drafts.Run(Bench::Request(Text(300), 40)).text, whole);
    GenerationRequest stopped = Bench::Request(Text(300), 40);
    stopped.params.stop_texts = {whole.substr(10, 3)};
    const Bench::Answer answer = drafts.Run(stopped);
    EXPECT_EQ(answer.text, plain.Run(stopped).text);
    EXPECT_GT(answer.end.cost.accepted_tokens, 0u);
    Tokens next = Text(300);
    for (const char letter : answer.text) next.push_back(letter);
    next.insert(next.end(), 50, 'y');
    const Bench::Answer after_drafts = drafts.Run(Bench::Request(next, 20));
    const Bench::Answer after_plain = plain.Run(Bench::Request(next, 20));
    EXPECT_EQ(after_drafts.text, after_plain.text);
    EXPECT_EQ(after_drafts.end.cost.reused_tokens, after_plain.end.cost.reused_tokens);
  }
}

TEST(Speculation, DraftsGiveWayWhereTheContextHasNoRoomForThem) {
  FakeEngineOptions options = Slots(2, MemoryClass::kAttention);
  options.context_tokens = options.cells = 400;
  Bench plain(options, {});
  Bench drafts(options, WithDrafts());
  for (int i = 0; i < 2; ++i) {
    const auto expected =
        plain.RunTogether({Bench::Request(Text(150, 'a'), 40), Bench::Request(Text(150, 'b'), 40)});
    const auto answers = drafts.RunTogether(
        {Bench::Request(Text(150, 'a'), 40), Bench::Request(Text(150, 'b'), 40)});
    for (size_t at = 0; at < answers.size(); ++at) {
      EXPECT_EQ(answers[at].text, expected[at].text);
      EXPECT_EQ(answers[at].end.kind, GenerationEvent::Kind::kDone);
    }
  }
}

TEST(Speculation, ExactReuseVerifiesNoDraftsUnlessTheEngineIsBatchInvariant) {
  SchedulerOptions options = WithDrafts();
  options.reuse = ReuseMode::kExact;
  for (const bool invariant : {false, true}) {
    options.drafts.in_exact = invariant;
    Bench bench(Bench::EngineOptions(MemoryClass::kAttention), options);
    bench.Run(Bench::Request(Text(300), 40));
    const Bench::Answer again = bench.Run(Bench::Request(Text(300), 40));
    EXPECT_EQ(again.end.cost.drafted_tokens > 0, invariant);
  }
}

}  // namespace
}  // namespace cairn
