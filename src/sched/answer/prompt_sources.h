// PromptSources: prompt tokens by where they came from, so that the sources add up to the prompts.
// Plain data.

#ifndef CAIRN_SCHED_ANSWER_PROMPT_SOURCES_H_
#define CAIRN_SCHED_ANSWER_PROMPT_SOURCES_H_

#include <cstddef>
#include <cstdint>

#include "sched/answer/reuse_report.h"

namespace cairn {

struct PromptSources {
  // Reused, by the slowest place that something was needed from.
  uint64_t live = 0;
  uint64_t ram = 0;
  uint64_t disk = 0;
  // Reused, and there because they had been computed ahead; in none of the above.
  uint64_t prefetched = 0;
  uint64_t computed = 0;

  // `tokens`: of the prompt, as far as it came. What was computed for it and lost to a lack of room
  // stays computed, although it was found again. Null: it got no slot.
  void Add(const ReuseReport* report, size_t tokens);
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_PROMPT_SOURCES_H_
