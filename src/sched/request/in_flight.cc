#include "sched/request/in_flight.h"

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

}  // namespace cairn
