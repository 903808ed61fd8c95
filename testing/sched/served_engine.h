// For tests that send an engine prompt after prompt: served, with a scheduler and a cache before
// it, or plain, without; and their results, to compare.

#ifndef CAIRN_TESTING_SCHED_SERVED_ENGINE_H_
#define CAIRN_TESTING_SCHED_SERVED_ENGINE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "engine/engine.h"
#include "sched/scheduler.h"
#include "testing/sched/played_conversation.h"

namespace cairn::test {

// Conversations of tests are short, so boundaries are further apart than a server has them.
inline constexpr size_t kPlayedGapDivisor = 8;

// RecordingEngine: forwards all calls, and keeps the logits that the first token of each answer is
// sampled from: those at the prompt's end, whether computed or restored. For each token it keeps
// the lead of the best over the second best.
class RecordingEngine final : public Engine {
 public:
  explicit RecordingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  // For the last prompt whose answer is sampled with this seed.
  const std::vector<float>& prompt_logits(uint32_t seed = SamplingParams{}.seed) const {
    return sampled_.at(seed).first;
  }
  // For the answer to it, token by token.
  const std::vector<float>& leads(uint32_t seed = SamplingParams{}.seed) const {
    return sampled_.at(seed).leads;
  }

  const ModelInfo& info() const override { return engine_->info(); }
  const MemoryTraits& traits() const override { return engine_->traits(); }
  size_t context_tokens() const override { return engine_->context_tokens(); }
  size_t slots() const override { return engine_->slots(); }
  size_t cells() const override { return engine_->cells(); }
  size_t chunk_tokens_max() const override { return engine_->chunk_tokens_max(); }
  Result<std::string> StateIdentity() const override { return engine_->StateIdentity(); }
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
  Status DecodeEach(std::span<const NextToken> tokens) override {
    return engine_->DecodeEach(tokens);
  }
  Status DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits) override {
    return engine_->DecodeChunks(chunks, logits);
  }
  std::span<const float> LogitsOf(size_t index) const override { return engine_->LogitsOf(index); }
  Result<Bytes> TakeSnapshot(SeqId seq) override { return engine_->TakeSnapshot(seq); }
  Status Restore(SeqId seq, size_t position, ByteSpan snapshot) override {
    return engine_->Restore(seq, position, snapshot);
  }
  bool CanTruncate(SeqId seq, size_t position) const override {
    return engine_->CanTruncate(seq, position);
  }
  Status Truncate(SeqId seq, size_t position) override { return engine_->Truncate(seq, position); }
  Status RollBack(SeqId seq, size_t position) override { return engine_->RollBack(seq, position); }
  void Clear(SeqId seq) override { engine_->Clear(seq); }
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override {
    return engine_->TakeSegment(seq, begin, end);
  }
  void ReleaseTaken() override { engine_->ReleaseTaken(); }
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot) override {
    return engine_->Assemble(seq, keep, parts, position, snapshot);
  }
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) override {
    return engine_->Fork(from, to, position, snapshot);
  }
  Result<Bytes> TakeFullState(SeqId seq) override { return engine_->TakeFullState(seq); }
  Status SetFullState(SeqId seq, size_t position, ByteSpan whole) override {
    return engine_->SetFullState(seq, position, whole);
  }
  MtpHeads* mtp_heads() override { return engine_->mtp_heads(); }
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override {
    Sampled& sampled = sampled_[params.seed];
    sampled = {};
    return std::make_unique<Recorder>(engine_->MakeSampler(params), &sampled);
  }

 private:
  struct Sampled {
    std::vector<float> first;
    std::vector<float> leads;
  };
  class Recorder final : public Sampler {
   public:
    Recorder(std::unique_ptr<Sampler> sampler, Sampled* sampled)
        : sampler_(std::move(sampler)), sampled_(sampled) {}
    Token Sample(std::span<const float> logits) override {
      if (sampled_->first.empty()) sampled_->first.assign(logits.begin(), logits.end());
      float best = -INFINITY;
      float second = -INFINITY;
      for (const float logit : logits) {
        second = std::max(second, std::min(best, logit));
        best = std::max(best, logit);
      }
      sampled_->leads.push_back(best - second);
      return sampler_->Sample(logits);
    }
    bool Accept(Token token) override { return sampler_->Accept(token); }

   private:
    const std::unique_ptr<Sampler> sampler_;
    Sampled* const sampled_;
  };

  const std::unique_ptr<Engine> engine_;
  std::map<uint32_t, Sampled> sampled_;
};

struct ServedAnswer {
  std::vector<float> logits = {};  // at the prompt's end
  std::vector<float> leads = {};   // of a plain answer's tokens, see RecordingEngine
  std::string text = {};
  size_t prefill_tokens = 0;
  size_t reused_tokens = 0;

  // Compares the answers bit by bit, but not their costs.
  friend bool operator==(const ServedAnswer& a, const ServedAnswer& b) {
    return a.logits == b.logits && a.text == b.text;
  }
  friend void PrintTo(const ServedAnswer& answer, std::ostream* out) {
    *out << "\"" << answer.text << "\", " << answer.logits.size() << " logits";
  }
};

// Samples the likeliest token each time, for exactly `tokens` tokens.
inline GenerationParams Greedy(size_t tokens) {
  GenerationParams params;
  params.sampling.temperature = 0;
  params.tokens_max = tokens;
  params.ignore_end = true;
  return params;
}

struct ServedOptions {
  ReuseMode reuse = ReuseMode::kLive;
  CacheOptions cache = {};
  std::string placement = "auto";
  std::string eviction = "value";
  PlacementOptions intervals = {};
  size_t answer_tokens = 20;
  Token message_start = -1;  // prompts are cut behind it; -1: on the grid alone
  DrafterFactory drafter = nullptr;
  DraftModelOptions draft_model = {};
  bool mtp = false;  // the engine's heads draft
  size_t draft_tokens_max = 16;
  bool drafts_in_exact = false;
};

// Served: one server lifetime without HTTP. Its clock stands still: nothing is measured, and
// everything that can be restored is. The prefill of models as small as those of tests takes less
// time than copying their state.
class Served {
 public:
  Served(std::unique_ptr<Engine> engine, const ServedOptions& options)
      : answer_tokens_(options.answer_tokens),
        engine_(std::move(engine)),
        cache_(options.cache, *MakePlacement(options.placement, options.intervals),
               *MakeEviction(options.eviction), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, Scheduling(options)) {}

  ServedAnswer Ask(const PlayedPrompt& prompt) { return AskTogether({prompt}).front(); }

  // Cancels the answer after some steps.
  void AskAndCancel(const PlayedPrompt& prompt, int steps) {
    GenerationRequest request;
    request.prompt = prompt.tokens;
    request.shape = prompt.shape;
    request.params = Greedy(answer_tokens_);
    const auto generation = scheduler_.Submit(std::move(request));
    ASSERT_TRUE(generation.has_value());
    for (int step = 0; step < steps; ++step) scheduler_.Step();
    (*generation)->Cancel();
    while (scheduler_.Step()) {
    }
  }

  // Submits all at the same time.
  std::vector<ServedAnswer> AskTogether(const std::vector<PlayedPrompt>& prompts) {
    std::vector<std::shared_ptr<Generation>> generations;
    for (size_t i = 0; i < prompts.size(); ++i) {
      GenerationRequest request;
      request.prompt = prompts[i].tokens;
      request.shape = prompts[i].shape;
      request.params = Greedy(answer_tokens_);
      // The likeliest token is the same for every seed; the seed identifies the logits.
      request.params.sampling.seed = static_cast<uint32_t>(i);
      auto generation = scheduler_.Submit(std::move(request));
      EXPECT_TRUE(generation.has_value());
      generations.push_back(std::move(*generation));
    }
    while (scheduler_.Step()) {
    }
    std::vector<ServedAnswer> answers;
    for (size_t i = 0; i < prompts.size(); ++i) {
      ServedAnswer& answer = answers.emplace_back();
      while (const auto event = generations[i]->Next(std::chrono::milliseconds(0))) {
        EXPECT_NE(event->kind, GenerationEvent::Kind::kFailed) << event->error.message;
        answer.text += event->text;
        answer.prefill_tokens = event->cost.prefill_tokens();
        answer.reused_tokens = event->cost.reused_tokens;
      }
      answer.logits = engine_.prompt_logits(static_cast<uint32_t>(i));
    }
    return answers;
  }

  const Engine& engine() const { return engine_; }
  const CheckpointCache& cache() const { return cache_; }
  SchedulerStats stats() const { return scheduler_.stats(); }

 private:
  static SchedulerOptions Scheduling(const ServedOptions& options) {
    SchedulerOptions scheduling;
    scheduling.reuse = options.reuse;
    if (options.message_start >= 0) scheduling.message_starts = {options.message_start};
    scheduling.boundary_gap_divisor = kPlayedGapDivisor;
    scheduling.drafts.make = options.drafter;
    scheduling.drafts.mtp = options.mtp;
    scheduling.drafts.model = options.draft_model;
    scheduling.drafts.tokens_max = options.draft_tokens_max;
    scheduling.drafts.in_exact = options.drafts_in_exact;
    // The clock stands still, so nothing can be measured.
    scheduling.drafts.adapts = false;
    return scheduling;
  }

  const size_t answer_tokens_;
  ManualClock clock_;
  RecordingEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
};

// Plain: the same model without scheduler and cache. With `live` the prompts are a chat's whose
// replies follow them whole.
class Plain {
 public:
  explicit Plain(std::unique_ptr<Engine> engine, size_t answer_tokens = 20,
                 Token message_start = -1, ReuseMode reuse = ReuseMode::kExact)
      : answer_tokens_(answer_tokens),
        engine_(std::move(engine)),
        player_(&engine_, CutsAtMessages(engine_.traits(), reuse) ? message_start : -1,
                kPlayedGapDivisor) {
    if (reuse == ReuseMode::kLive) {
      player_.PlayLiveChat(message_start, /*reply_follows=*/true, /*passes_end=*/true);
    }
  }

  // Prefills the complete prompt.
  ServedAnswer AskCold(const Tokens& prompt) {
    player_.Forget();
    return GoOn(prompt);
  }
  // Continues where the last answer ended; `prompt` must begin with all before.
  ServedAnswer GoOn(const Tokens& prompt) {
    EXPECT_TRUE(player_.Continues(prompt));
    player_.Read(prompt);
    ServedAnswer answer;
    answer.text = player_.Generate(Greedy(answer_tokens_));
    answer.logits = engine_.prompt_logits();
    answer.leads = engine_.leads();
    answer.prefill_tokens = prompt.size();
    return answer;
  }

 private:
  const size_t answer_tokens_;
  RecordingEngine engine_;
  PlainPlayer player_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_SERVED_ENGINE_H_
