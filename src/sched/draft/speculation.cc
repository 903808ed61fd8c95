#include "sched/draft/speculation.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// The weight of a new measurement in the moving average.
constexpr double kNewShare = 0.1;

}  // namespace

AnswerDrafts Speculation::Begin(Tokens earlier_answer) const {
  const DrafterFactory make = context_->options.drafts.make;
  return make == nullptr ? AnswerDrafts() : AnswerDrafts(make(std::move(earlier_answer)));
}

Draft Speculation::Propose(RunningRequest* request, PlannedDecode* decode) const {
  const DraftOptions& options = context_->options.drafts;
  const TokenSpan text = context_->pool.slot(*request->slot).tokens();
  // The token after the draft's last needs a place in the context too, and one token at least is
  // sampled after the draft.
  const size_t context_left = context_->engine->context_tokens() - text.size() - 1;
  const size_t answer_left = request->request.params.tokens_max - request->cost.generated_tokens;
  const size_t batch_left = context_->engine->chunk_tokens_max() - decode->tokens;
  const size_t most =
      std::min({options.tokens_max, batch_left, std::max<size_t>(context_left, 1) - 1,
                std::max<size_t>(answer_left, 1) - 1});
  Draft draft = request->drafts.Propose(text, *request->next, most);
  if (draft.tokens.empty()) return draft;
  const double accepted = request->drafts.accepted(draft.source);
  size_t length = draft.tokens.size();
  if (options.adapts) length = BestDraftLength(costs_, *decode, accepted, snapshot_ms_, length);
  if (length == 0 || length < options.tokens_min) {
    request->drafts.OnSkipped(draft.source);
    return {};
  }
  draft.tokens.resize(length);
  decode->tokens += length;
  decode->gained += ExpectedGain(accepted, length);
  return draft;
}

Result<Bytes> Speculation::Prepare(Slot* slot) {
  if (context_->engine->traits().rollback_tokens > 0) return Bytes();
  const double begin_ms = context_->NowMs();
  auto snapshot = slot->TakeSnapshot();
  snapshot_ms_ += (context_->NowMs() - begin_ms - snapshot_ms_) * kNewShare;
  return snapshot;
}

Status Speculation::RollBack(Slot* slot, size_t accepted, const Bytes& snapshot) {
  const double begin_ms = context_->NowMs();
  const Status rolled = slot->RollBack(accepted + 1, snapshot);
  if (!snapshot.empty()) snapshot_ms_ += (context_->NowMs() - begin_ms) * kNewShare;
  return rolled;
}

void Speculation::OnVerified(RunningRequest* request, const Draft& draft, size_t accepted) const {
  const size_t tokens = draft.tokens.size();
  request->drafts.OnVerified(draft.source, tokens, accepted);
  request->cost.drafted_tokens += tokens;
  request->cost.accepted_tokens += accepted;
  context_->stats.Update([&](SchedulerStats* stats) {
    DraftStats& of_source = stats->drafts[static_cast<size_t>(draft.source)];
    of_source.drafted_tokens += tokens;
    of_source.accepted_tokens += accepted;
  });
}

}  // namespace cairn
