// PromptGroup: prompts that wait at the same moment, and whose answers begin together.
//
//   prompts   | A | B | C | D |                   E arrived meanwhile: it is in the next group
//   answers                   | A B C D | A B C D | …
//
// An answer whose prompt is computed is held until those of its group are: its logits are kept, and
// its first token is not sampled yet (AnswerPace::group_tokens_max says why).
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_PROMPT_GROUP_H_
#define CAIRN_SCHED_STEPS_PROMPT_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/queue/running_requests.h"

namespace cairn {

class PromptGroup {
 public:
  // `running` must outlive this object.
  explicit PromptGroup(RunningRequests* running) : running_(running) {}

  // Makes a new group of the requests at the front that have at most `tokens_max` tokens to compute
  // together, and of the first one in any case. None that goes on after a preemption, and none with
  // several answers, waits for others.
  void Begin(std::span<RunningRequest* const> in_order, size_t tokens_max);
  void Clear() { admissions_.clear(); }
  bool Has(const RunningRequest& request) const;
  // Whether another request of the group still computes its prompt, so that `request` is held.
  bool WaitsForOthers(const RunningRequest& request) const;
  // The requests that are held.
  std::vector<RunningRequest*> Held() const;

 private:
  RunningRequests* const running_;
  std::vector<uint64_t> admissions_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_PROMPT_GROUP_H_
