#include "sched/answer/reuse_report.h"

#include <algorithm>
#include <utility>

namespace cairn {

std::string_view PathName(ReuseReport::Path path) {
  switch (path) {
    case ReuseReport::Path::kNothing:
      return "none";
    case ReuseReport::Path::kWentOn:
      return "continued";
    case ReuseReport::Path::kCut:
      return "truncated";
    case ReuseReport::Path::kRestored:
      return "restored";
    case ReuseReport::Path::kAssembled:
      return "assembled";
    case ReuseReport::Path::kForked:
      return "forked";
    case ReuseReport::Path::kFullState:
      return "full_state";
    case ReuseReport::Path::kMoved:
      return "moved";
  }
  return "";
}

namespace {

// Subtracts up to `from` tokens from `left`, and returns how many.
size_t TakeUpTo(size_t* left, size_t from) {
  const size_t taken = std::min(*left, from);
  *left -= taken;
  return taken;
}

}  // namespace

void PromptSources::Add(const ReuseReport* report, size_t tokens) {
  size_t left = tokens;
  if (report != nullptr) {
    // Prefetched tokens are held in the slot that computed them, or in the tier to which it was
    // offloaded.
    size_t ahead = std::min(report->prefetched_tokens, left);
    prefetched += TakeUpTo(&left, ahead);
    for (auto [tier_tokens, sum] :
         {std::pair{report->live_tokens, &live}, std::pair{report->ram_tokens, &ram},
          std::pair{report->disk_tokens, &disk}}) {
      *sum += TakeUpTo(&left, tier_tokens - TakeUpTo(&ahead, tier_tokens));
    }
  }
  computed += left;
}

}  // namespace cairn
