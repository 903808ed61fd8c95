#include "sched/steps/preload.h"

#include <memory>
#include <utility>

namespace cairn {

size_t Preload::EndOf(const RunningRequest& request) const {
  return request.has_placeholder ? rules_->CutsOf(request.prefill_tokens).Last()
                                 : request.prefill_tokens.size();
}

void Preload::FindCheckpoint(RunningRequest* request) {
  if (request->has_placeholder) return;
  const Tokens& path = request->request.prompt;
  const auto known = cache_->Match(request->request.name_space, path);
  const bool found = !known.checkpoints.empty() && known.checkpoints.back().position == path.size();
  if (found) request->preload_class = known.checkpoints.back().checkpoint_class;
  request->has_placeholder = !found || known.checkpoints.back().logits_bytes == 0;
  if (request->has_placeholder) request->prefill_tokens.push_back(path.back());
}

bool Preload::EndIfAtHand(RunningRequest* request) {
  FindCheckpoint(request);
  const NamespaceId name_space = request->request.name_space;
  const auto match = cache_->Match(name_space, request->prefill_tokens);
  auto report = restorer_->AtHand({name_space, request->prefill_tokens, true, &match});
  if (!report || report->reused_tokens < EndOf(*request)) return false;
  report->prompt_tokens = request->request.prompt.size();
  report->shared_tokens = report->reused_tokens;
  request->cost.reused_tokens = report->reused_tokens;
  request->report = std::make_shared<const ReuseReport>(std::move(*report));
  Finish(request);
  return true;
}

void Preload::Plan(RunningRequest* request) {
  const size_t end = EndOf(*request);
  const Slot& slot = pool_->slot(*request->slot);
  // No conversation is truncated before the end of the chunk after an answer, and where chunks are
  // whole there, that is only known when its next prompt comes.
  const bool is_clean = slot.provenance().clean == slot.tokens().size();
  const bool unknown = !is_clean && rules_->chunk_rules().whole_behind_clean;
  if (unknown || end < rules_->FirstStop(slot, rules_->CutsOf(request->prefill_tokens))) {
    return Finish(request);
  }
  request->plan = {{end, request->preload_class}};
}

void Preload::Finish(RunningRequest* request) {
  request->times.first_token_ms = clock_->NowMs();
  request->cost.prompt_ms = request->times.first_token_ms - request->times.admitted_ms;
  if (request->slot) {
    const size_t tokens = running_->slot_tokens(*request);
    restorer_->ObservePrefill(tokens - request->prefill_begin_tokens, request->prefill_ms);
    request->cost.prompt_tokens = tokens;
  } else {
    request->cost.prompt_tokens = request->cost.reused_tokens;
  }
  running_->Finish(request, FinishReason::kLength);
}

}  // namespace cairn
