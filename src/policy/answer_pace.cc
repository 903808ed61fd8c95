#include "policy/answer_pace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace cairn {
namespace {

// None: keeps no account. Chunks and steps of the answers take turns.
class NonePace final : public AnswerPace {
 public:
  bool MayPrefill(double /*now_ms*/, double /*chunk_ms*/) const override { return !prefilled_; }
  bool owes() const override { return false; }
  void OnPrefill(double /*ms*/) override { prefilled_ = true; }
  void OnDecode(double /*now_ms*/, double /*ms*/) override { prefilled_ = false; }
  void OnNoAnswers(double /*now_ms*/) override { prefilled_ = false; }

 private:
  bool prefilled_ = false;  // since the last step
};

// Rate: prompts go first, as long as each answer keeps a rate of tokens and no gap becomes long.
//
//   answers   | t |                     | t | t | t |                     | t | t …
//   prompts       |  chunk  |  chunk  |             |  chunk  |  chunk  |
//                 '-- gap_ms_max at most --'
//
// Full batches decode a token in a fraction of the time that small ones take, and the answers that
// wait for their first token are those that people notice. So answers get no more time than the
// rate needs: a step takes `step_ms`, so `tokens_per_s_min` steps a second take
//
//   share of the answers = tokens_per_s_min * step_ms / 1000
//
// of the time. Where a machine is too slow for that, they get what `prefill_share` leaves them.
// Each chunk owes them their share; steps are taken when the debt is due or the gap would become
// too long.
//
// An answer that has not begun has no gap. So those of a crowd begin together: no step for the
// first of them delays the prompts of the others, and their batches are full from the beginning.

// Answers go on even where chunks take no time that can be measured.
constexpr size_t kChunksMax = 32;

// The batch of llama-server's defaults: what it prefills before it decodes.
constexpr size_t kGroupTokensMax = 2048;

class RatePace final : public AnswerPace {
 public:
  explicit RatePace(const AnswerPaceOptions& options) : options_(options) {}

  bool MayPrefill(double now_ms, double chunk_ms) const override {
    if (owes()) return false;
    // A chunk may be longer than any gap, and prompts have to be prefilled all the same.
    if (chunks_ == 0) return true;
    return chunks_ < kChunksMax && chunk_ms < ChunkMsMax(now_ms);
  }
  double ChunkMsMax(double now_ms) const override {
    const double gap_ms = now_ms - stepped_ms_ + step_ms_;
    return std::max(0.0, options_.gap_ms_max - gap_ms);
  }
  size_t group_tokens_max() const override { return kGroupTokensMax; }
  bool owes() const override { return owed_ms_ > 0; }
  void OnPrefill(double ms) override {
    ++chunks_;
    const double share =
        std::min(options_.tokens_per_s_min * step_ms_ / 1000, 1 - options_.prefill_share);
    owed_ms_ += ms * share / (1 - share);
  }
  void OnDecode(double now_ms, double ms) override {
    chunks_ = 0;
    step_ms_ = ms;
    stepped_ms_ = now_ms;
    // A step may take longer than what is owed; the rest counts for the next chunk.
    owed_ms_ = std::max(owed_ms_ - ms, -ms);
  }
  void OnNoAnswers(double now_ms) override {
    chunks_ = 0;
    stepped_ms_ = now_ms;
    owed_ms_ = 0;
  }

 private:
  const AnswerPaceOptions options_;
  size_t chunks_ = 0;      // since the last step
  double step_ms_ = 0;     // that the last step took
  double stepped_ms_ = 0;  // when it ended
  double owed_ms_ = 0;     // negative: they had more than their share
};

// Share: prefill takes a fixed share of the time.
//
//   share 0.5   | chunk | tokens … | chunk | tokens … | chunk |     as long as there are both
//                 180 ms   180 ms
//
// A prompt of any length slows the answers by at most 1 / (1 - share), and the pause is spread over
// many chunks. The account is in time, not in chunks: how many tokens an answer gets in the time of
// a chunk depends on the model and the machine.
class SharePace final : public AnswerPace {
 public:
  explicit SharePace(const AnswerPaceOptions& options)
      : owed_per_ms_((1 - options.prefill_share) / options.prefill_share) {}

  bool MayPrefill(double /*now_ms*/, double /*chunk_ms*/) const override {
    return !prefilled_ && !owes();
  }
  bool owes() const override { return owed_ms_ > 0; }
  void OnPrefill(double ms) override {
    prefilled_ = true;
    owed_ms_ += ms * owed_per_ms_;
  }
  void OnDecode(double /*now_ms*/, double ms) override {
    prefilled_ = false;
    owed_ms_ = std::max(0.0, owed_ms_ - ms);
  }
  void OnNoAnswers(double /*now_ms*/) override {
    prefilled_ = false;
    owed_ms_ = 0;
  }

 private:
  const double owed_per_ms_;
  double owed_ms_ = 0;
  bool prefilled_ = false;  // since the last step
};

// A policy without options of its own takes none.
template <typename Policy>
std::unique_ptr<AnswerPace> NewPace(const AnswerPaceOptions& options) {
  if constexpr (std::is_constructible_v<Policy, const AnswerPaceOptions&>) {
    return std::make_unique<Policy>(options);
  } else {
    return std::make_unique<Policy>();
  }
}

struct NamedPace {
  PolicySummary policy;
  std::unique_ptr<AnswerPace> (*make)(const AnswerPaceOptions& options);
};

constexpr std::array<NamedPace, 3> kPaces{{
    {{"none", "a token of each answer after every chunk"}, NewPace<NonePace>},
    {{"rate", "prompts first, as far as answers keep their rate"}, NewPace<RatePace>},
    {{"share", "prefill takes --prefill-share of the time"}, NewPace<SharePace>},
}};

}  // namespace

Result<std::unique_ptr<AnswerPace>> MakeAnswerPace(const AnswerPaceOptions& options) {
  const auto* const found = FindPolicy(kPaces, options.name);
  if (found == nullptr)
    return tl::unexpected(NoSuchPolicy("answer pace", options.name, SummariesOf(kPaces)));
  return found->make(options);
}

std::vector<PolicySummary> AnswerPaceSummaries() {
  return SummariesOf(kPaces);
}

}  // namespace cairn
