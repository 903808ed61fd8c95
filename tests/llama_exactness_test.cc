// The promise of the cache on the real libllama: random conversations through scheduler and cache
// on made models of every memory class.
//
// `exact`: the logits at the end of every prompt, and the greedy answer after them, are those of an
// engine that knows no cache, to the bit. All that were tried are exact, without exception. For
// sliding windows that is LlamaEngine's doing, which keeps their cells in order: see
// docs/decisions/0008-window-order.md. Without it one turn in ten of these conversations differed.
// `live`: the same, against an engine that was given the same conversation without a pause.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/llama_engine.h"
#include "engine/model_vocabulary.h"
#include "engine/test_models.h"
#include "sched/played_conversation.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr size_t kAnswerTokens = 20;
constexpr test::MessageTokens kMessageTokens = {kTurnStartToken, kTurnEndToken};
constexpr test::PersonLetters kLetters = {350, 150, 200, 60, 90};

struct Made {
  const char* architecture;
  uint32_t window_tokens = 0;
  bool recurrent = false;  // a snapshot is all its state
  bool segments = true;
};

// Draws as another does, and keeps the first logits that it draws from: those at a prompt's end.
class RecordingSampler final : public Sampler {
 public:
  RecordingSampler(std::unique_ptr<Sampler> sampler, std::vector<float>* first)
      : sampler_(std::move(sampler)), first_(first) {}
  Token Sample(std::span<const float> logits) override {
    if (first_->empty()) first_->assign(logits.begin(), logits.end());
    return sampler_->Sample(logits);
  }

 private:
  const std::unique_ptr<Sampler> sampler_;
  std::vector<float>* const first_;
};

// Passes everything on, and keeps the logits that each answer begins with.
class RecordingEngine final : public Engine {
 public:
  explicit RecordingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  // Of the last answer.
  const std::vector<float>& first_logits() const { return first_logits_; }

  const ModelInfo& info() const override { return engine_->info(); }
  const MemoryTraits& traits() const override { return engine_->traits(); }
  size_t context_tokens() const override { return engine_->context_tokens(); }
  size_t piece_tokens_max() const override { return engine_->piece_tokens_max(); }
  Result<Tokens> Tokenize(std::string_view text, bool add_special,
                          bool parse_special) const override {
    return engine_->Tokenize(text, add_special, parse_special);
  }
  std::string Piece(Token token, bool special) const override {
    return engine_->Piece(token, special);
  }
  bool IsEndOfGeneration(Token token) const override { return engine_->IsEndOfGeneration(token); }
  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override {
    return engine_->Decode(seq, position, tokens);
  }
  std::span<const float> Logits() const override { return engine_->Logits(); }
  Result<Bytes> TakeSnapshot(SeqId seq) override { return engine_->TakeSnapshot(seq); }
  Status Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) override {
    return engine_->Restore(seq, position, snapshot);
  }
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override {
    return engine_->TakeSegment(seq, begin, end);
  }
  Status Join(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
              ByteSpan snapshot) override {
    return engine_->Join(seq, keep, parts, position, snapshot);
  }
  bool CanTruncate(SeqId seq, size_t position) const override {
    return engine_->CanTruncate(seq, position);
  }
  Status Truncate(SeqId seq, size_t position) override { return engine_->Truncate(seq, position); }
  void Clear(SeqId seq) override { engine_->Clear(seq); }
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override {
    first_logits_.clear();
    return std::make_unique<RecordingSampler>(engine_->MakeSampler(params), &first_logits_);
  }

 private:
  const std::unique_ptr<Engine> engine_;
  std::vector<float> first_logits_;
};

RecordingEngine Loaded(const Made& made) {
  auto engine =
      LlamaEngine::Load(test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens)));
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return RecordingEngine(std::move(*engine));
}

GenerationParams Greedy() {
  GenerationParams params;
  params.sampling.temperature = 0;
  params.tokens_max = kAnswerTokens;
  params.ignore_end = true;
  return params;
}

struct Answer {
  std::vector<float> logits;  // at the prompt's end
  std::string text;
};

// The same model without scheduler and cache.
class Plain {
 public:
  explicit Plain(const Made& made) : engine_(Loaded(made)), player_(&engine_) {}

  void Forget() { player_.Forget(); }
  // Goes on where the last answer ended; `prompt` must begin with all before.
  Answer Go(const Tokens& prompt) {
    EXPECT_TRUE(player_.Continues(prompt));
    player_.Read(prompt);
    Answer answer;
    answer.logits.assign(engine_.Logits().begin(), engine_.Logits().end());
    answer.text = player_.Generate(Greedy());
    return answer;
  }

 private:
  RecordingEngine engine_;
  test::PlainPlayer player_;
};

// One server's life: an engine, a cache and a scheduler, asked for prompts.
class Served {
 public:
  Served(const Made& made, ReuseMode reuse, size_t ram_bytes_max)
      : engine_(Loaded(made)),
        cache_({ram_bytes_max, 0}, *MakePlacement("near-end,user-turns"), *MakeEviction("lru"),
               MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {reuse, 64}) {}

  Answer Ask(const test::PlayedPrompt& prompt) {
    GenerationRequest request;
    request.prompt = prompt.tokens;
    request.shape = prompt.shape;
    request.params = Greedy();
    const auto generation = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler_.Step()) {
    }
    Answer answer;
    while (const auto event = (*generation)->Next(std::chrono::milliseconds(0))) {
      EXPECT_NE(event->kind, GenerationEvent::Kind::kFailed) << event->error.message;
      answer.text += event->text;
    }
    answer.logits = engine_.first_logits();
    return answer;
  }

  SchedulerStats stats() const { return scheduler_.stats(); }

 private:
  // Stands still: nothing is measured, and whatever can come back does. Models this small are read
  // in less time than it takes to copy their state.
  ManualClock clock_;
  RecordingEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
};

class LlamaExactness : public testing::TestWithParam<Made> {};

TEST_P(LlamaExactness, ExactReuseChangesNoBit) {
  constexpr int kTurns = 9;
  Plain plain(GetParam());
  uint64_t reused = 0;
  uint64_t restored = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "conversation " << seed);
    // Every other cache is so small that checkpoints are given up all the time.
    const size_t snapshot_bytes = Loaded(GetParam()).traits().snapshot_bytes;
    Served served(GetParam(), ReuseMode::kExact,
                  seed % 2 == 0 ? 3 * snapshot_bytes : size_t{1} << 30);
    test::Person person(seed, kLetters);
    for (int turn = 0; turn < kTurns; ++turn) {
      const test::PlayedPrompt prompt = test::Render(person.messages(), seed > 1, kMessageTokens);
      const Answer answer = served.Ask(prompt);
      plain.Forget();
      const Answer cold = plain.Go(prompt.tokens);
      ASSERT_EQ(answer.logits, cold.logits) << "turn " << turn;
      ASSERT_EQ(answer.text, cold.text) << "turn " << turn;
      person.Change(answer.text);
    }
    reused += served.stats().reused_tokens;
    restored += served.stats().keeper.checkpoints_restored;
  }
  EXPECT_GT(reused, 4000u) << "so little was reused that nothing was tested";
  EXPECT_GT(restored, 0u);
}

TEST_P(LlamaExactness, LiveReuseIsAnUninterruptedConversation) {
  Plain plain(GetParam());
  Served served(GetParam(), ReuseMode::kLive, size_t{1} << 30);
  test::Person person(7, kLetters);
  uint64_t generated = 0;
  for (int turn = 0; turn < 8; ++turn) {
    const test::PlayedPrompt prompt = test::Render(person.messages(), false, kMessageTokens);
    const Answer answer = served.Ask(prompt);
    const Answer uninterrupted = plain.Go(prompt.tokens);
    ASSERT_EQ(answer.logits, uninterrupted.logits) << "turn " << turn;
    ASSERT_EQ(answer.text, uninterrupted.text) << "turn " << turn;
    person.Append(answer.text, 3);
    generated += answer.text.size();
  }
  // Each turn goes on from the one before: nothing but the new tokens was read.
  EXPECT_GT(served.stats().reused_tokens, served.stats().prompt_tokens / 2);
  EXPECT_EQ(generated, 8 * kAnswerTokens);
}

// Two people take turns in the one slot, and share a header.
TEST_P(LlamaExactness, ExactReuseChangesNoBitWhenPeopleTakeTurns) {
  constexpr int kTurns = 14;
  Plain plain(GetParam());
  Served served(GetParam(), ReuseMode::kExact, size_t{1} << 30);
  const std::string header(200, 'H');
  std::array<test::Person, 2> people = {test::Person(3, kLetters, header),
                                        test::Person(4, kLetters, header)};
  for (int turn = 0; turn < kTurns; ++turn) {
    test::Person& person = people[static_cast<size_t>(turn % 2)];
    const test::PlayedPrompt prompt = test::Render(person.messages(), true, kMessageTokens);
    const Answer answer = served.Ask(prompt);
    plain.Forget();
    const Answer cold = plain.Go(prompt.tokens);
    ASSERT_EQ(answer.logits, cold.logits) << "turn " << turn;
    ASSERT_EQ(answer.text, cold.text) << "turn " << turn;
    person.Change(answer.text);
  }
  const bool comes_back = GetParam().segments || GetParam().recurrent;
  EXPECT_EQ(served.stats().keeper.joined > 0, GetParam().segments);
  EXPECT_EQ(served.stats().reused_tokens > served.stats().prompt_tokens / 2, comes_back);
}

TEST_P(LlamaExactness, LiveReuseOfPeopleWhoTakeTurnsIsTheirUninterruptedConversations) {
  Served served(GetParam(), ReuseMode::kLive, size_t{1} << 30);
  const std::string header(200, 'H');
  std::array<test::Person, 3> people = {test::Person(5, kLetters, header),
                                        test::Person(6, kLetters, header),
                                        test::Person(8, kLetters, header)};
  std::vector<std::unique_ptr<Plain>> plain;
  for (size_t i = 0; i < people.size(); ++i) plain.push_back(std::make_unique<Plain>(GetParam()));
  for (size_t turn = 0; turn < 15; ++turn) {
    // Whose slot is not parked, as of architectures without segments, is read again from its begin:
    // not what an uninterrupted conversation does.
    if (!GetParam().segments && !GetParam().recurrent) {
      GTEST_SKIP() << GetParam().architecture << " is not in the table of segments";
    }
    const size_t who = turn % people.size();
    const test::PlayedPrompt prompt = test::Render(people[who].messages(), false, kMessageTokens);
    const Answer answer = served.Ask(prompt);
    const Answer uninterrupted = plain[who]->Go(prompt.tokens);
    ASSERT_EQ(answer.logits, uninterrupted.logits) << "turn " << turn;
    ASSERT_EQ(answer.text, uninterrupted.text) << "turn " << turn;
    people[who].Append(answer.text, 3);
  }
  EXPECT_EQ(served.stats().keeper.failed, 0u);
  EXPECT_GT(served.stats().reused_tokens, served.stats().prompt_tokens / 2);
}

INSTANTIATE_TEST_SUITE_P(OfEveryMemory, LlamaExactness,
                         testing::Values(Made{"llama"}, Made{"gemma3", 96},
                                         Made{"gpt-oss", 128, false, false},
                                         Made{"mamba2", 0, true, false}, Made{"qwen35"},
                                         Made{"lfm2"}, Made{"falcon-h1"}),
                         [](const auto& tested) {
                           std::string name(tested.param.architecture);
                           std::replace(name.begin(), name.end(), '-', '_');
                           const uint32_t window = tested.param.window_tokens;
                           return window > 0 ? name + "_" + std::to_string(window) : name;
                         });

}  // namespace
}  // namespace cairn
