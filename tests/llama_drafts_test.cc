// Speculative decoding on the real libllama: answers with drafts are those without, on synthetic
// models of every memory class. In float32, where batches move bits least.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/batch_probe.h"
#include "engine/llama/llama_engine.h"
#include "lab/maker/model_vocabulary.h"
#include "testing/engine/test_models.h"
#include "testing/sched/played_conversation.h"
#include "testing/sched/served_engine.h"

namespace cairn {
namespace {

constexpr test::MessageTokens kMessageTokens = {kTurnStartToken, kTurnEndToken};
constexpr test::PersonLetters kLetters = {200, 60, 80, 30, 60};
constexpr int kTurns = 6;

// Three conversations of each model, or as many as CAIRN_DRAFT_CONVERSATIONS says.
int Conversations() {
  const char* asked = std::getenv("CAIRN_DRAFT_CONVERSATIONS");
  return asked == nullptr ? 3 : std::stoi(asked);
}

struct Made {
  const char* architecture;
  uint32_t window_tokens = 0;
};

std::unique_ptr<LlamaEngine> Loaded(const Made& made, size_t rollback_states = 0) {
  LlamaOptions options =
      test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens, "f32"));
  options.cache_type_k = options.cache_type_v = "f32";
  options.flash_attention = "off";
  options.rollback_states = rollback_states;
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

test::ServedOptions Options(DrafterFactory drafter) {
  test::ServedOptions options;
  options.cache.ram_bytes_max = size_t{1} << 30;
  options.answer_tokens = 40;
  options.drafter = drafter;
  return options;
}

class LlamaDrafts : public testing::TestWithParam<Made> {};

// Each prompt is sent twice, so that the second answer is drafted from the first, and sometimes an
// answer is cancelled before; between turns people go on, edit and go back.
void ExpectTheSameAnswers(test::Served* plain, test::Served* drafted) {
  std::mt19937_64 random(7);
  for (int i = 0; i < Conversations(); ++i) {
    test::Person person(40 + static_cast<uint64_t>(i), kLetters, std::string(150, 'H'));
    for (int turn = 0; turn < kTurns; ++turn) {
      const auto prompt = test::Render(person.messages(), false, kMessageTokens);
      if (random() % 3 == 0) {
        const int steps = 1 + static_cast<int>(random() % 20);
        plain->AskAndCancel(prompt, steps);
        drafted->AskAndCancel(prompt, steps);
      }
      std::string answer;
      for (int time = 0; time < 2; ++time) {
        answer = plain->Ask(prompt).text;
        ASSERT_EQ(drafted->Ask(prompt).text, answer) << "turn " << turn << ", time " << time;
      }
      person.Change(answer);
    }
  }
}

TEST_P(LlamaDrafts, AnswersWithDraftsAreThoseWithout) {
  auto without = Loaded(GetParam());
  // Hybrid memory rolls short drafts back by states that it keeps, and long ones by snapshots.
  auto with = Loaded(GetParam(), 3);
  ASSERT_TRUE(without != nullptr && with != nullptr);
  test::Served plain(std::move(without), Options(nullptr));
  test::Served drafted(std::move(with), Options(&MakeNgramDrafter));
  ExpectTheSameAnswers(&plain, &drafted);
  uint64_t drafts = 0;
  uint64_t accepted = 0;
  for (const DraftStats& source : drafted.stats().drafts) {
    drafts += source.drafted_tokens;
    accepted += source.accepted_tokens;
  }
  EXPECT_GT(accepted, 200u);
  EXPECT_GE(drafts, accepted);
}

// `exact` verifies drafts only where the probe of the start finds that decoding tokens together
// changes no bit. Then the logits of every later prompt are those without drafts, to the bit.
TEST_P(LlamaDrafts, ExactAnswersWithDraftsAreThoseWithoutBitForBit) {
  auto without = Loaded(GetParam());
  auto with = Loaded(GetParam(), 3);
  ASSERT_TRUE(without != nullptr && with != nullptr);
  test::ServedOptions exact = Options(&MakeNgramDrafter);
  const auto differs = FindBatchDifference(with.get(), exact.draft_tokens_max + 1);
  ASSERT_TRUE(differs.has_value());
  if (*differs > 0) {
    GTEST_SKIP() << "decoding " << *differs << " tokens together changes bits of this model here";
  }
  exact.reuse = ReuseMode::kExact;
  exact.drafts_in_exact = true;
  test::ServedOptions plain_options = exact;
  plain_options.drafter = nullptr;
  test::Served plain(std::move(without), plain_options);
  test::Served drafted(std::move(with), exact);
  test::Person person(90, kLetters, std::string(150, 'H'));
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto prompt = test::Render(person.messages(), false, kMessageTokens);
    for (int time = 0; time < 2; ++time) {
      const test::ServedAnswer expected = plain.Ask(prompt);
      ASSERT_FALSE(expected.logits.empty());
      ASSERT_EQ(drafted.Ask(prompt), expected) << "turn " << turn << ", time " << time;
      if (time == 1) person.Change(expected.text);
    }
  }
  EXPECT_GT(drafted.stats().drafts[0].accepted_tokens, 50u);
}

// The draft model is once the model itself, which is mostly right, and once another one, which is
// mostly wrong.
TEST_P(LlamaDrafts, AnswersWithADraftModelAreThoseWithout) {
  const Made other =
      std::string_view(GetParam().architecture) == "llama" ? Made{"qwen35"} : Made{"llama"};
  for (const Made& draft : {GetParam(), other}) {
    SCOPED_TRACE(draft.architecture);
    auto without = Loaded(GetParam());
    auto with = Loaded(GetParam());
    const auto draft_engine = Loaded(draft);
    ASSERT_TRUE(without != nullptr && with != nullptr && draft_engine != nullptr);
    CheckpointCache draft_cache({}, *MakePlacement("none"), *MakeEviction("value"), MakeRamStore());
    test::ServedOptions options = Options(nullptr);
    options.draft_model = {draft_engine.get(), &draft_cache, 0, 1 << 20};
    options.draft_tokens_max = 4;
    test::Served plain(std::move(without), Options(nullptr));
    test::Served drafted(std::move(with), options);
    ExpectTheSameAnswers(&plain, &drafted);
    const DraftStats drafts = drafted.stats().drafts[static_cast<size_t>(DraftSource::kDraftModel)];
    EXPECT_GT(drafts.drafted_tokens, 500u);
    if (draft.architecture == GetParam().architecture) {
      EXPECT_GT(drafts.accepted_tokens, drafts.drafted_tokens * 9 / 10);
    }
  }
}

// A model with a head for multi-token prediction.
struct Headed {
  const char* architecture;
  float right;  // ModelShape::mtp_right
};

std::unique_ptr<LlamaEngine> LoadedWithHead(const Headed& made, LlamaOptions::Mtp mtp,
                                            size_t slots) {
  LlamaOptions options = test::SmallOptions(test::MadeModelWithHead(made.architecture, made.right));
  options.cache_type_k = options.cache_type_v = "f32";
  options.flash_attention = "off";
  options.mtp = mtp;
  options.slots = slots;
  options.rollback_states = mtp == LlamaOptions::Mtp::kOff ? 0 : 3;
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

class LlamaMtpDrafts : public testing::TestWithParam<Headed> {};

test::ServedOptions MtpOptions(size_t tokens_max) {
  test::ServedOptions options = Options(nullptr);
  options.mtp = true;
  options.draft_tokens_max = tokens_max;
  return options;
}

DraftStats OfHeads(const test::Served& served) {
  return served.stats().drafts[static_cast<size_t>(DraftSource::kMtp)];
}

// Drafts of two tokens are rolled back by states that hybrid memory keeps, those of six by
// snapshots.
TEST_P(LlamaMtpDrafts, AnswersWithDraftsAreThoseWithout) {
  for (const size_t tokens_max : {2, 6}) {
    auto without = LoadedWithHead(GetParam(), LlamaOptions::Mtp::kOff, 1);
    auto with = LoadedWithHead(GetParam(), LlamaOptions::Mtp::kOn, 1);
    ASSERT_TRUE(without != nullptr && with != nullptr);
    test::Served plain(std::move(without), Options(nullptr));
    test::Served drafted(std::move(with), MtpOptions(tokens_max));
    ExpectTheSameAnswers(&plain, &drafted);
    const DraftStats drafts = OfHeads(drafted);
    EXPECT_GT(drafts.drafted_tokens, 500u);
    // Behind a draft's first token the head goes by its own hidden states, which are worse.
    const size_t parts = tokens_max == 2 ? 5 : 10;
    if (GetParam().right >= 0) EXPECT_GT(drafts.accepted_tokens, drafts.drafted_tokens / parts);
  }
}

// Several people at a time, with n-grams before the heads; one in three goes on in a fork.
TEST_P(LlamaMtpDrafts, AnswersInSeveralSlotsAreThoseWithout) {
  constexpr size_t kPeople = 3;
  auto without = LoadedWithHead(GetParam(), LlamaOptions::Mtp::kOff, kPeople);
  auto with = LoadedWithHead(GetParam(), LlamaOptions::Mtp::kOn, kPeople);
  ASSERT_TRUE(without != nullptr && with != nullptr);
  test::ServedOptions options = MtpOptions(4);
  options.drafter = &MakeNgramDrafter;
  test::Served plain(std::move(without), Options(nullptr));
  test::Served drafted(std::move(with), options);
  std::vector<test::Person> people;
  for (uint64_t i = 0; i < kPeople; ++i) {
    people.emplace_back(70 + i, kLetters, std::string(150, 'H'));
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<test::PlayedPrompt> prompts;
    for (const test::Person& person : people) {
      prompts.push_back(test::Render(person.messages(), false, kMessageTokens));
    }
    const auto expected = plain.AskTogether(prompts);
    const auto answers = drafted.AskTogether(prompts);
    for (size_t i = 0; i < kPeople; ++i) {
      ASSERT_EQ(answers[i].text, expected[i].text) << "turn " << turn << ", person " << i;
      people[i].Change(expected[i].text);
    }
  }
  EXPECT_GT(OfHeads(drafted).drafted_tokens, 200u);
}

INSTANTIATE_TEST_SUITE_P(OfHeads, LlamaMtpDrafts,
                         testing::Values(Headed{"qwen35", -1}, Headed{"qwen35", 0.8F},
                                         Headed{"glm4moe", -1}, Headed{"glm4moe", 0.8F}),
                         [](const auto& tested) {
                           return std::string(tested.param.architecture) +
                                  (tested.param.right < 0 ? "Random" : "Made");
                         });

INSTANTIATE_TEST_SUITE_P(OfEveryMemory, LlamaDrafts,
                         testing::Values(Made{"llama"}, Made{"gemma3", 96}, Made{"mamba2"},
                                         Made{"qwen35"}, Made{"lfm2"}),
                         [](const auto& tested) { return std::string(tested.param.architecture); });

}  // namespace
}  // namespace cairn
