// A draft model beside a model, both FakeEngines, through scheduler and caches.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "testing/sched/scheduler_fixture.h"
#include "testing/store/fake_disk.h"

namespace cairn::draft_model_test {
namespace {

using test::Bench;
using test::Join;
using test::kClasses;
using test::Slots;
using test::SteppingClock;
using test::Text;
using test::TokensOf;

constexpr double kPlentyMs = 2000;
constexpr uint64_t kOtherSeed = 2;

// With a grid of one token the two engines agree however their prompts are cut.
FakeEngineOptions EngineOptions(MemoryClass memory_class, size_t slots = 1) {
  FakeEngineOptions options = Slots(slots, memory_class);
  options.grid_tokens = 1;
  return options;
}

// One lifetime of a server with a draft model.
class Server {
 public:
  Server(const FakeEngineOptions& model, const FakeEngineOptions& draft,
         test::FakeDisk* model_disk = nullptr, test::FakeDisk* draft_disk = nullptr,
         LineageId first_lineage = 1 << 20)
      : engine_(model),
        draft_engine_(draft),
        cache_(MakeCache(model_disk, {7, 7})),
        draft_cache_(MakeCache(draft_disk, {8, 8})),
        scheduler_(&engine_, cache_.get(), &clock_, Options(first_lineage)) {}

  std::shared_ptr<Generation> Submit(GenerationRequest request) {
    return *scheduler_.Submit(std::move(request));
  }
  Bench::Answer Ask(GenerationRequest request) {
    const auto generation = Submit(std::move(request));
    while (scheduler_.Step()) {
    }
    return Bench::Collect(generation.get());
  }
  Scheduler& scheduler() { return scheduler_; }
  DraftStats drafts() const {
    return scheduler_.stats().drafts[static_cast<size_t>(DraftSource::kDraftModel)];
  }
  DraftModelStats of_draft_model() const { return scheduler_.stats().draft_model; }
  bool draft_asleep() const { return draft_engine_.asleep(); }
  FakeEngine& draft_engine() { return draft_engine_; }
  void CheckInvariants() const {
    cache_->CheckInvariants();
    draft_cache_->CheckInvariants();
  }

 private:
  static std::unique_ptr<CheckpointCache> MakeCache(test::FakeDisk* disk, Fingerprint fingerprint) {
    auto cache = std::make_unique<CheckpointCache>(
        CacheOptions{}, *MakePlacement("near-end,user-turns"), *MakeEviction("value"),
        disk == nullptr ? MakeRamStore() : MakeTieredStore(disk));
    if (disk != nullptr) disk->Restart();
    cache->SetSavedAs({fingerprint, {{0, 0}, {1, 111}}});
    return cache;
  }
  SchedulerOptions Options(LineageId first_lineage) {
    SchedulerOptions options;
    options.slots.first_lineage = first_lineage;
    options.sleep_after_ms = 10'000;
    options.drafts.model.engine = &draft_engine_;
    options.drafts.model.cache = draft_cache_.get();
    options.drafts.model.first_lineage = first_lineage;
    options.drafts.tokens_max = 5;
    // The clock of these tests measures calls, not work.
    options.drafts.adapts = false;
    return options;
  }

  SteppingClock clock_;
  FakeEngine engine_;
  FakeEngine draft_engine_;
  std::unique_ptr<CheckpointCache> cache_;
  std::unique_ptr<CheckpointCache> draft_cache_;
  Scheduler scheduler_;
};

TEST(DraftModel, DraftsThatAreRightAreAcceptedAndDraftsThatAreWrongChangeNothing) {
  for (const MemoryClass memory_class : kClasses) {
    for (const uint64_t seed : {FakeEngineOptions{}.seed, kOtherSeed}) {
      SCOPED_TRACE(std::string(MemoryClassName(memory_class)) + ", " + std::to_string(seed));
      FakeEngineOptions draft = EngineOptions(memory_class);
      draft.seed = seed;
      Server server(EngineOptions(memory_class), draft);
      Bench plain(EngineOptions(memory_class), {});
      Tokens prompt = Text(300);
      for (int turn = 0; turn < 5; ++turn) {
        const Bench::Answer answer = server.Ask(Bench::Request(prompt, 40));
        EXPECT_EQ(answer.text, plain.Run(Bench::Request(prompt, 40)).text);
        prompt = Join(Join(prompt, TokensOf(answer.text)), Text(60, static_cast<char>('a' + turn)));
        if (turn == 2) prompt.resize(350);  // an edit
      }
      server.CheckInvariants();
      EXPECT_GT(server.drafts().drafted_tokens, 100u);
      if (seed == kOtherSeed) continue;
      EXPECT_EQ(server.drafts().accepted_tokens, server.drafts().drafted_tokens);
    }
  }
}

TEST(DraftModel, ANextTurnIsPrefilledFromItsMessageOnInBothModels) {
  for (const MemoryClass memory_class : {MemoryClass::kAttention, MemoryClass::kHybrid}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Server server(EngineOptions(memory_class), EngineOptions(memory_class));
    const Tokens prompt = Text(1000);
    const Bench::Answer answer = server.Ask(Bench::Request(prompt, 40));
    // It began when the answer did.
    EXPECT_LE(server.of_draft_model().prefilled_tokens, 1002u);
    const Tokens next = Join(Join(prompt, TokensOf(answer.text)), Text(200, 'y'));
    server.Ask(Bench::Request(next, 40));
    EXPECT_LE(server.of_draft_model().prefilled_tokens, 1202u);
    EXPECT_GE(server.of_draft_model().reused_tokens, 1038u);
  }
}

TEST(DraftModel, AfterARestartInTheMiddleOfAnAnswerNeitherModelPrefillsItAgain) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk model_disk;
    test::FakeDisk draft_disk;
    const Tokens prompt = Text(1000);
    Tokens held;
    {
      Server server(EngineOptions(memory_class), EngineOptions(memory_class), &model_disk,
                    &draft_disk);
      const auto generation = server.Submit(Bench::Request(prompt, 400));
      for (int step = 0; step < 20; ++step) server.scheduler().Step();
      generation->Cancel();
      while (server.scheduler().Step()) {
      }
      EXPECT_GT(server.drafts().accepted_tokens, 10u);
      held = Join(prompt, TokensOf(Bench::Collect(generation.get()).text));
      EXPECT_TRUE(server.scheduler().SaveAll(kPlentyMs));
    }
    ASSERT_GT(held.size(), 1010u);
    Server server(EngineOptions(memory_class), EngineOptions(memory_class), &model_disk,
                  &draft_disk, 2 << 20);
    const Bench::Answer answer = server.Ask(Bench::Request(Join(held, Text(30, 'y')), 40));
    // The last token of the answer was sampled, and decoded in neither.
    EXPECT_GE(answer.end.cost.reused_tokens + 2, held.size());
    EXPECT_GE(server.of_draft_model().reused_tokens + 8, held.size());
    EXPECT_LE(server.of_draft_model().prefilled_tokens, 40u);
    EXPECT_GT(server.drafts().accepted_tokens, 0u);
    server.CheckInvariants();
  }
}

TEST(DraftModel, APromptThatComesAgainAfterARestartIsPrefilledInNeitherModel) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    test::FakeDisk model_disk;
    test::FakeDisk draft_disk;
    const Tokens prompt = Text(1000);
    for (const LineageId first_lineage : {1 << 20, 2 << 20}) {
      Server server(EngineOptions(memory_class), EngineOptions(memory_class), &model_disk,
                    &draft_disk, first_lineage);
      server.Ask(Bench::Request(prompt, 100));
      EXPECT_TRUE(server.scheduler().SaveAll(kPlentyMs));
      if (first_lineage == 1 << 20) continue;
      EXPECT_GE(server.of_draft_model().reused_tokens, 999u);
      EXPECT_EQ(server.of_draft_model().prefilled_tokens, 0u);
    }
  }
}

TEST(DraftModel, AStateThatIsMissingIsComputedAgain) {
  test::FakeDisk model_disk;
  const Tokens prompt = Text(1000);
  {
    Server server(EngineOptions(MemoryClass::kHybrid), EngineOptions(MemoryClass::kHybrid),
                  &model_disk);
    server.Ask(Bench::Request(prompt, 20));
    EXPECT_TRUE(server.scheduler().SaveAll(kPlentyMs));
  }
  Server server(EngineOptions(MemoryClass::kHybrid), EngineOptions(MemoryClass::kHybrid),
                &model_disk, nullptr, 2 << 20);
  const Bench::Answer answer = server.Ask(Bench::Request(prompt, 40));
  EXPECT_GT(answer.end.cost.reused_tokens, 900u);
  EXPECT_GE(server.of_draft_model().prefilled_tokens, 1000u);
  EXPECT_GT(server.drafts().accepted_tokens, 20u);
}

TEST(DraftModel, SeveralAnswersAtOnceAreThoseWithoutADraftModel) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions draft = EngineOptions(memory_class, 3);
    // Too few cells for three.
    if (memory_class == MemoryClass::kAttention) draft.context_tokens = draft.cells = 700;
    Server server(EngineOptions(memory_class, 3), draft);
    Bench plain(EngineOptions(memory_class, 3), {});
    for (int round = 0; round < 3; ++round) {
      std::vector<std::shared_ptr<Generation>> generations;
      std::vector<GenerationRequest> requests;
      for (int i = 0; i < 5; ++i) {
        const char letter = static_cast<char>('a' + (i + round) % 5);
        requests.push_back(Bench::Request(Text(200 + 10 * i, letter), 40));
        generations.push_back(server.Submit(requests.back()));
      }
      while (server.scheduler().Step()) {
      }
      const auto expected = plain.RunTogether(requests);
      for (size_t i = 0; i < generations.size(); ++i) {
        EXPECT_EQ(Bench::Collect(generations[i].get()).text, expected[i].text);
      }
    }
    EXPECT_GT(server.drafts().accepted_tokens, 0u);
    server.CheckInvariants();
  }
}

TEST(DraftModel, FailuresOfTheDraftModelCostDraftsOnly) {
  Server server(EngineOptions(MemoryClass::kAttention), EngineOptions(MemoryClass::kHybrid));
  Bench plain(EngineOptions(MemoryClass::kAttention), {});
  const std::string expected = plain.Run(Bench::Request(Text(300), 60)).text;
  const auto generation = server.Submit(Bench::Request(Text(300), 60));
  for (int step = 0; server.scheduler().Step(); ++step) {
    if (step % 5 == 0) server.draft_engine().FailNextDecodes(1);
    if (step % 7 == 0) server.draft_engine().RefuseNextStates(1);
  }
  EXPECT_EQ(Bench::Collect(generation.get()).text, expected);
  server.CheckInvariants();
}

TEST(DraftModel, IsUnloadedAndLoadedWithTheModel) {
  Server server(EngineOptions(MemoryClass::kAttention), EngineOptions(MemoryClass::kAttention));
  const Bench::Answer before = server.Ask(Bench::Request(Text(300), 30));
  while (!server.scheduler().SleepIfIdle()) {
  }
  EXPECT_TRUE(server.draft_asleep());
  EXPECT_EQ(server.Ask(Bench::Request(Text(300), 30)).text, before.text);
  EXPECT_FALSE(server.draft_asleep());
  EXPECT_EQ(server.of_draft_model().prefilled_tokens, 300u);
}

}  // namespace
}  // namespace cairn::draft_model_test
