// PromptSources: counts prompt tokens by source, so that the sources add up to the prompts. Plain
// data.

#ifndef CAIRN_SCHED_ANSWER_PROMPT_SOURCES_H_
#define CAIRN_SCHED_ANSWER_PROMPT_SOURCES_H_

#include <cstddef>
#include <cstdint>

#include "sched/answer/reuse_report.h"

namespace cairn {

struct PromptSources {
  // Reused tokens, by the slowest tier used to obtain them.
  uint64_t live = 0;
  uint64_t ram = 0;
  uint64_t disk = 0;
  // Reused tokens that had been prefetched; not counted in the fields above.
  uint64_t prefetched = 0;
  uint64_t computed = 0;

  // `tokens`: the prompt tokens that were done when the request ended. Tokens computed for it and
  // lost to a preemption stay computed, although they were found again. `report` is nullptr if the
  // request got no slot.
  void Add(const ReuseReport* report, size_t tokens);
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_PROMPT_SOURCES_H_
