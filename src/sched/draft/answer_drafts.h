// AnswerDrafts: the drafters of one answer, and how often their drafts were accepted.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_DRAFT_ANSWER_DRAFTS_H_
#define CAIRN_SCHED_DRAFT_ANSWER_DRAFTS_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sched/draft/drafter.h"

namespace cairn {

class AnswerDrafts {
 public:
  AnswerDrafts() = default;  // proposes nothing
  // Each proposes where those before it have no draft.
  explicit AnswerDrafts(std::vector<std::unique_ptr<Drafter>> drafters)
      : drafters_(std::move(drafters)) {
    for (size_t i = 0; i < kDraftSources; ++i) {
      accepted_[i] = ExpectedAcceptance(static_cast<DraftSource>(i));
    }
  }

  bool on() const { return !drafters_.empty(); }
  // See Drafter.
  Draft Propose(TokenSpan text, Token next, const DraftLength& length_of) {
    for (const auto& drafter : drafters_) {
      Draft draft = drafter->Propose(text, next, length_of);
      if (!draft.tokens.empty()) return draft;
    }
    return {};
  }
  void Release(TokenSpan text) {
    for (const auto& drafter : drafters_) drafter->Release(text);
  }
  // The estimated probability that a drafted token is accepted if those before it were.
  double accepted(DraftSource source) const { return accepted_[static_cast<size_t>(source)]; }
  // `tokens` were verified, and the first `accepted` of them accepted.
  void OnVerified(DraftSource source, size_t tokens, size_t accepted) {
    for (size_t i = 0; i < accepted; ++i) Learn(source, 1, kNewShare);
    if (accepted < tokens) Learn(source, 0, kNewShare);
  }
  // A draft was not worth verifying. What was seen of its source counts less from then on, so that
  // it is tried again in another part of the answer.
  void OnSkipped(DraftSource source) { Learn(source, ExpectedAcceptance(source), kForgottenShare); }

 private:
  static constexpr double kNewShare = 0.1;
  static constexpr double kForgottenShare = 0.01;

  void Learn(DraftSource source, double seen, double share) {
    double& accepted = accepted_[static_cast<size_t>(source)];
    accepted += (seen - accepted) * share;
  }

  std::vector<std::unique_ptr<Drafter>> drafters_;
  std::array<double, kDraftSources> accepted_ = {};
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_ANSWER_DRAFTS_H_
