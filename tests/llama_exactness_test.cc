// The cache's promise on the real libllama: random conversations through scheduler and cache on
// synthetic models of every memory class.
//
// `exact`: the logits at the end of every prompt, and the greedy answer after them, are bit for bit
// those of an engine without a cache. All conversations tried are exact, without exception. For
// sliding windows this is because LlamaEngine keeps their cells in order: see
// docs/decisions/0008-window-order.md. Without it one turn in ten of these conversations differed.
// `live`: the same, against an engine that was given the same conversation without a pause.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/llama/llama_engine.h"
#include "lab/maker/model_vocabulary.h"
#include "testing/engine/test_models.h"
#include "testing/sched/played_conversation.h"
#include "testing/sched/served_engine.h"

namespace cairn {
namespace {

constexpr size_t kAnswerTokens = 20;
constexpr test::MessageTokens kMessageTokens = {kTurnStartToken, kTurnEndToken};
constexpr test::PersonLetters kLetters = {350, 150, 200, 60, 90};

struct Made {
  const char* architecture;
  uint32_t window_tokens = 0;
  bool recurrent = false;  // all its state is in snapshots; it has no segments
};

std::unique_ptr<LlamaEngine> Loaded(const Made& made) {
  auto engine =
      LlamaEngine::Load(test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens)));
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

test::ServedOptions Options(ReuseMode reuse, size_t ram_bytes_max = size_t{1} << 30) {
  test::ServedOptions options;
  options.reuse = reuse;
  options.cache.ram_bytes_max = ram_bytes_max;
  options.placement = "near-end,user-turns";
  options.eviction = "lru";
  options.answer_tokens = kAnswerTokens;
  options.message_start = kTurnStartToken;
  return options;
}

class LlamaExactness : public testing::TestWithParam<Made> {};

TEST_P(LlamaExactness, ExactReuseChangesNoBit) {
  constexpr int kTurns = 9;
  test::Plain plain(Loaded(GetParam()), kAnswerTokens, kTurnStartToken);
  uint64_t reused = 0;
  uint64_t restored = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "conversation " << seed);
    // Every other cache is so small that checkpoints are evicted all the time.
    std::unique_ptr<LlamaEngine> engine = Loaded(GetParam());
    const size_t few_bytes = 3 * engine->traits().snapshot_bytes;
    test::Served served(std::move(engine),
                        Options(ReuseMode::kExact, seed % 2 == 0 ? few_bytes : size_t{1} << 30));
    test::Person person(seed, kLetters);
    for (int turn = 0; turn < kTurns; ++turn) {
      const test::PlayedPrompt prompt = test::Render(person.messages(), seed > 1, kMessageTokens);
      const test::ServedAnswer answer = served.Ask(prompt);
      const test::ServedAnswer cold = plain.AskCold(prompt.tokens);
      ASSERT_EQ(answer, cold) << "turn " << turn;
      person.Change(answer.text);
    }
    reused += served.stats().tokens.reused;
    restored += served.stats().slot_counters.checkpoints_restored;
  }
  EXPECT_GT(reused, 4000u) << "so little was reused that nothing was tested";
  EXPECT_GT(restored, 0u);
}

TEST_P(LlamaExactness, LiveReuseIsAnUninterruptedConversation) {
  test::Plain plain(Loaded(GetParam()), kAnswerTokens, kTurnStartToken, ReuseMode::kLive);
  test::Served served(Loaded(GetParam()), Options(ReuseMode::kLive));
  test::Person person(7, kLetters);
  uint64_t generated = 0;
  for (int turn = 0; turn < 8; ++turn) {
    const test::PlayedPrompt prompt = test::Render(person.messages(), false, kMessageTokens);
    const test::ServedAnswer answer = served.Ask(prompt);
    const test::ServedAnswer uninterrupted = plain.GoOn(prompt.tokens);
    ASSERT_EQ(answer, uninterrupted) << "turn " << turn;
    person.Append(answer.text, 3);
    generated += answer.text.size();
  }
  // Each turn resumes from the one before: only the new tokens were prefilled.
  EXPECT_GT(served.stats().tokens.reused, served.stats().tokens.prompt / 2);
  EXPECT_EQ(generated, 8 * kAnswerTokens);
}

// Two users alternate in the only slot, and share a system prefix.
TEST_P(LlamaExactness, ExactReuseChangesNoBitWhenPeopleTakeTurns) {
  constexpr int kTurns = 14;
  test::Plain plain(Loaded(GetParam()), kAnswerTokens, kTurnStartToken);
  test::Served served(Loaded(GetParam()), Options(ReuseMode::kExact));
  const std::string header(200, 'H');
  std::array<test::Person, 2> people = {test::Person(3, kLetters, header),
                                        test::Person(4, kLetters, header)};
  for (int turn = 0; turn < kTurns; ++turn) {
    test::Person& person = people[static_cast<size_t>(turn % 2)];
    const test::PlayedPrompt prompt = test::Render(person.messages(), true, kMessageTokens);
    const test::ServedAnswer answer = served.Ask(prompt);
    const test::ServedAnswer cold = plain.AskCold(prompt.tokens);
    ASSERT_EQ(answer, cold) << "turn " << turn;
    person.Change(answer.text);
  }
  EXPECT_EQ(served.stats().slot_counters.assembled > 0, !GetParam().recurrent);
  EXPECT_GT(served.stats().tokens.reused, served.stats().tokens.prompt / 2);
}

TEST_P(LlamaExactness, LiveReuseOfPeopleWhoTakeTurnsIsTheirUninterruptedConversations) {
  test::Served served(Loaded(GetParam()), Options(ReuseMode::kLive));
  const std::string header(200, 'H');
  std::array<test::Person, 3> people = {test::Person(5, kLetters, header),
                                        test::Person(6, kLetters, header),
                                        test::Person(8, kLetters, header)};
  std::vector<std::unique_ptr<test::Plain>> plain;
  for (size_t i = 0; i < people.size(); ++i) {
    plain.push_back(std::make_unique<test::Plain>(Loaded(GetParam()), kAnswerTokens,
                                                  kTurnStartToken, ReuseMode::kLive));
  }
  for (size_t turn = 0; turn < 15; ++turn) {
    const size_t who = turn % people.size();
    const test::PlayedPrompt prompt = test::Render(people[who].messages(), false, kMessageTokens);
    const test::ServedAnswer answer = served.Ask(prompt);
    const test::ServedAnswer uninterrupted = plain[who]->GoOn(prompt.tokens);
    ASSERT_EQ(answer, uninterrupted) << "turn " << turn;
    people[who].Append(answer.text, 3);
  }
  EXPECT_EQ(served.stats().slot_counters.failed, 0u);
  EXPECT_GT(served.stats().tokens.reused, served.stats().tokens.prompt / 2);
}

INSTANTIATE_TEST_SUITE_P(OfEveryMemory, LlamaExactness,
                         testing::Values(Made{"llama"}, Made{"gemma3", 96}, Made{"gpt-oss", 128},
                                         Made{"mamba2", 0, true}, Made{"qwen35"}, Made{"lfm2"},
                                         Made{"falcon-h1"}),
                         [](const auto& tested) {
                           std::string name(tested.param.architecture);
                           std::replace(name.begin(), name.end(), '-', '_');
                           const uint32_t window = tested.param.window_tokens;
                           return window > 0 ? name + "_" + std::to_string(window) : name;
                         });

}  // namespace
}  // namespace cairn
