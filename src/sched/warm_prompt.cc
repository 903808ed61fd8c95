#include "sched/warm_prompt.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kRememberedMax = 32;

}  // namespace

size_t UsedOf(const WarmedPrompt& warmed, NamespaceId name_space, TokenSpan prompt, size_t reused) {
  if (warmed.prompt.name_space != name_space) return 0;
  const size_t common = CommonPrefix(warmed.prompt.tokens, prompt);
  const size_t used_to = std::min({common, reused, warmed.end});
  return used_to - std::min(used_to, warmed.begin);
}

void WarmedPrompts::Add(WarmedPrompt warmed) {
  warmed_.push_back(std::move(warmed));
  if (warmed_.size() > kRememberedMax) warmed_.pop_front();
}

size_t WarmedPrompts::Take(NamespaceId name_space, TokenSpan prompt, size_t reused) {
  // What two were read ahead for alike was read once.
  size_t most = 0;
  for (auto warmed = warmed_.begin(); warmed != warmed_.end();) {
    const size_t used = UsedOf(*warmed, name_space, prompt, reused);
    most = std::max(most, used);
    warmed = used > 0 ? warmed_.erase(warmed) : std::next(warmed);
  }
  return most;
}

}  // namespace cairn
