// The workload `gaps`: answers stream during the prefill of one very long prompt.

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "lab/load/load_parts.h"

namespace cairn::load {
namespace {

constexpr size_t kGapQuestionTokens = 64;
constexpr size_t kPiecesBefore = 1000;  // deltas of each answer before the long prompt
constexpr size_t kPiecesSettling = 20;  // of these, the first are left out
constexpr double kBeforeMsMax = 120'000;
constexpr double kPollMs = 2;

class Gaps {
 public:
  Gaps(const LoadOptions& options, const LoadClient& client, LoadRun* run)
      : options_(options),
        client_(client),
        faults_(run),
        run_(run),
        answers_(options.answers),
        pieces_(options.answers),
        ended_(options.answers) {}

  void Play() {
    AtOnce(options_.answers + 1, [this](size_t i) {
      if (i < options_.answers) {
        PlayAnswer(i);
      } else {
        PlayLong();
        stop_ = true;
      }
    });
    if (!Complete()) return;
    const TimeWindow during = {long_.asked_ms, long_.asked_ms + long_.answer.first_token_ms};
    TimeWindow before = {0, during.begin_ms};
    for (const PieceTimes& answer : Streams()) {
      before.begin_ms = std::max(before.begin_ms, answer.at_ms.at(kPiecesSettling));
    }
    Count(before, during);
  }

 private:
  std::vector<PieceTimes> Streams() const {
    std::vector<PieceTimes> streams;
    for (const LoadReply& answer : answers_) streams.push_back(answer.pieces);
    return streams;
  }

  size_t PiecesBefore() const { return Scaled(options_, kPiecesBefore, 100); }

  void PlayAnswer(size_t i) {
    const std::string text =
        NewText(options_, "gaps: question " + std::to_string(i), kGapQuestionTokens);
    LoadAsk ask = AskFor({{"user", text}}, options_.answer_tokens_max);
    ask.goes_on = [this, i](size_t pieces) {
      pieces_[i] = pieces;
      return !stop_;
    };
    answers_[i] = client_.Ask(ask);
    ended_[i] = true;
  }

  bool AllStream() const {
    return std::all_of(pieces_.begin(), pieces_.end(),
                       [this](const auto& pieces) { return pieces >= PiecesBefore(); });
  }
  bool AnyEnded() const {
    return std::any_of(ended_.begin(), ended_.end(),
                       [](const auto& ended) -> bool { return ended; });
  }

  void PlayLong() {
    LoadAsk ask =
        AskFor({{"user", NewText(options_, "gaps: the long one", options_.long_tokens)}}, 1);
    const double begin_ms = client_.clock().NowMs();
    while (!AllStream()) {
      if (AnyEnded() || client_.clock().NowMs() - begin_ms > kBeforeMsMax) return;
      SleepMs(kPollMs);
    }
    long_ = client_.Ask(ask);
    asked_long_ = true;
  }

  bool Complete() {
    bool accepted = true;
    for (const LoadReply& answer : answers_) accepted = faults_.Accept(answer) && accepted;
    if (asked_long_) accepted = faults_.Accept(long_) && accepted;
    if (accepted && asked_long_) return true;
    run_->error = !asked_long_ ? "not all answers streamed at once" : "a request failed";
    return false;
  }

  void Count(const TimeWindow& before, const TimeWindow& during) {
    const std::vector<PieceTimes> streams = Streams();
    std::vector<double> gaps_before;
    std::vector<double> gaps_during;
    double streamed_until_ms = during.begin_ms;
    for (const PieceTimes& answer : streams) {
      for (const double gap : GapsIn(answer, before)) gaps_before.push_back(gap);
      for (const double gap : GapsIn(answer, during)) gaps_during.push_back(gap);
      const double until_ms = answer.ended ? answer.at_ms.back() : during.end_ms;
      streamed_until_ms = std::max(streamed_until_ms, std::min(until_ms, during.end_ms));
    }
    const Spread gap_before = SpreadOf(gaps_before);
    const Spread gap_during = SpreadOf(gaps_during);
    const double speed_before = TokensPerSecond(streams, before);
    // Answers that ended before the prefill did must not lower the rate.
    const double speed_during = TokensPerSecond(streams, {during.begin_ms, streamed_until_ms});
    run_->figures = {
        {"before_p50_ms", gap_before.p50},
        {"before_p99_ms", gap_before.p99},
        {"before_max_ms", gap_before.max},
        {"during_p50_ms", gap_during.p50},
        {"during_p99_ms", gap_during.p99},
        {"during_max_ms", gap_during.max},
        {"p99_over_p50", RatioOf(gap_during.p99, gap_before.p50)},
        {"p99_over_p99", RatioOf(gap_during.p99, gap_before.p99)},
        {"before_tokens_per_s", speed_before},
        {"during_tokens_per_s", speed_during},
        {"speed_kept", RatioOf(speed_during, speed_before)},
        {"long_tokens", static_cast<double>(long_.answer.prompt_tokens)},
        {"long_first_token_ms", long_.answer.first_token_ms},
        {"watched", RatioOf(streamed_until_ms - during.begin_ms, during.length_ms())},
    };
  }

  const LoadOptions& options_;
  const LoadClient& client_;
  Faults faults_;
  LoadRun* const run_;
  std::vector<LoadReply> answers_;  // each written by its thread, read once all have ended
  std::vector<std::atomic<size_t>> pieces_;
  std::vector<std::atomic<bool>> ended_;
  std::atomic<bool> stop_ = false;
  LoadReply long_;
  bool asked_long_ = false;
};

}  // namespace

void PlayGaps(const LoadOptions& options, const LoadClient& client, LoadRun* run) {
  Gaps(options, client, run).Play();
}

}  // namespace cairn::load
