#include "sched/steps/prompt_group.h"

#include <algorithm>

namespace cairn {

void PromptGroup::Begin(std::span<RunningRequest* const> in_order, size_t tokens_max) {
  admissions_.clear();
  size_t tokens = 0;
  for (const RunningRequest* request : in_order) {
    if (request->has_begun() || request->request.answers > 1) continue;
    tokens += request->prefill_tokens.size() - running_->slot_tokens(*request);
    if (tokens > tokens_max && !admissions_.empty()) return;
    admissions_.push_back(request->admission);
  }
}

bool PromptGroup::Has(const RunningRequest& request) const {
  return std::find(admissions_.begin(), admissions_.end(), request.admission) != admissions_.end();
}

bool PromptGroup::WaitsForOthers(const RunningRequest& request) const {
  if (!Has(request)) return false;
  return std::any_of(running_->all().begin(), running_->all().end(), [&](const auto& other) {
    return &other != &request && other.prefills_prompt() && Has(other);
  });
}

std::vector<RunningRequest*> PromptGroup::Held() const {
  std::vector<RunningRequest*> held;
  for (RunningRequest& request : running_->all()) {
    if (request.is_held()) held.push_back(&request);
  }
  return held;
}

}  // namespace cairn
