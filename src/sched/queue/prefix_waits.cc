#include "sched/queue/prefix_waits.h"

#include <algorithm>

#include "tree/prompt_cuts.h"

namespace cairn {

size_t SharedPoint(TokenSpan reader, TokenSpan waiter, const CutRules& rules, bool keeps_ends) {
  const size_t common = CommonPrefix(reader, waiter);
  if (keeps_ends && common == reader.size() && common == waiter.size()) return common;
  // A reader's own last chunk is not cut further, and the last token of the waiting prompt is
  // prefilled.
  const PromptCuts cuts(rules, reader);
  const size_t waiter_last = PromptCuts(rules, waiter).Last();
  return cuts.AtOrBefore(std::min({common, cuts.Last(), waiter_last}));
}

size_t StopFor(const std::vector<Placement>& plan, size_t position) {
  size_t stop = position;
  for (const Placement& planned : plan) {
    if (planned.position > position) break;
    if (position - planned.position < kStopNearTokens) stop = planned.position;
  }
  return stop;
}

void AddStop(size_t position, std::vector<Placement>* plan) {
  const auto after = std::find_if(plan->begin(), plan->end(), [&](const Placement& planned) {
    return planned.position >= position;
  });
  if (after != plan->end() && after->position == position) return;
  plan->insert(after, {position, CheckpointClass::kBranch});
}

namespace {

// Whether a slot can continue from the contents of another that is in use. In one buffer, the
// neighbours of a slot change its bits, which `exact` excludes.
bool SharesInFlight(const MemoryTraits& traits, bool exact) {
  const bool shares = traits.segments || traits.memory_class == MemoryClass::kRecurrent;
  return shares && !(exact && traits.one_buffer);
}

// A preempted request continues at once.
bool MayWait(const QueuedRequest& queued) {
  return queued.ready() && queued.may_reuse() && !queued.was_admitted();
}

}  // namespace

void PrefixWaits::Update() {
  if (!SharesInFlight(model_->traits(), rules_->exact())) return;
  const uint64_t last_admission = running_->last_admission();
  queue_->ForEach([&](QueuedRequest* waiter) {
    if (!MayWait(*waiter)) return;
    PrefixWait& wait = waiter->wait;
    // When the reader is gone, another one that was no better before may serve.
    if (wait.reader != 0 && running_->FindAdmission(wait.reader) == nullptr) {
      const bool counted = wait.counted;
      wait = {};
      wait.counted = counted;
    }
    if (wait.met == last_admission) return;
    std::optional<size_t> reach_tokens;
    for (RunningRequest& reader : running_->all()) {
      if (reader.admission > wait.met) Meet(waiter, &reader, &reach_tokens);
    }
    wait.met = last_admission;
  });
}

void PrefixWaits::Meet(QueuedRequest* waiter, RunningRequest* reader,
                       std::optional<size_t>* reach_tokens) {
  const GenerationRequest& request = waiter->request;
  if (!reader->prefills_prompt()) return;
  if (reader->request.name_space != request.name_space) return;
  size_t position = SharedPoint(reader->prefill_tokens, request.prompt, rules_->cuts(),
                                pool_->options().keep_ends);
  // Every prompt has a chunk that ends at its end, but not every one ends a chunk before that.
  const bool is_inside = position < reader->prefill_tokens.size();
  const bool stops = is_inside && model_->traits().NeedsSnapshots();
  if (stops) position = StopFor(reader->plan, position);
  PrefixWait& wait = waiter->wait;
  if (is_inside) {
    const Slot& slot = pool_->slot(*reader->slot);
    const PromptCuts cuts = rules_->CutsOf(reader->prefill_tokens);
    if (position < rules_->FirstStop(slot, cuts)) return;
  }
  if (wait.reader != 0 && position < wait.position + kSparedTokensMin) return;
  if (!*reach_tokens) {
    const auto match = cache_->Match(request.name_space, request.prompt);
    *reach_tokens =
        restorer_->ReachOf({request.name_space, request.prompt, true, &match, request.slot}).tokens;
  }
  if (position < **reach_tokens + kSparedTokensMin) return;
  wait.reader = reader->admission;
  wait.position = position;
  if (stops) AddStop(position, &reader->plan);
}

bool PrefixWaits::Waits(const QueuedRequest& queued) const {
  if (queued.wait.reader == 0 || queued.generation->cancelled()) return false;
  const RunningRequest* reader = running_->FindAdmission(queued.wait.reader);
  if (reader == nullptr || !reader->prefills_prompt()) return false;
  return running_->slot_tokens(*reader) < queued.wait.position;
}

}  // namespace cairn
