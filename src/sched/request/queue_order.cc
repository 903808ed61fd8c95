#include "sched/request/queue_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cairn {

void FairShares::SetActive(const std::set<NamespaceId>& active) {
  if (active == active_) return;
  double level_ms = 0;
  bool first = true;
  for (const NamespaceId name_space : active) {
    if (!active_.contains(name_space)) continue;
    const double used_ms = UsedMs(name_space);
    level_ms = first ? used_ms : std::min(level_ms, used_ms);
    first = false;
  }
  // If none of them was active before, they start level: their earlier use does not count.
  if (first) used_ms_.clear();
  for (const NamespaceId name_space : active) {
    double& used_ms = used_ms_[name_space];
    if (!active_.contains(name_space)) used_ms = std::max(used_ms, level_ms);
  }
  active_ = active;
}

double FairShares::UsedMs(NamespaceId name_space) const {
  const auto found = used_ms_.find(OwnerOf(name_space));
  return found == used_ms_.end() ? 0 : found->second;
}

std::vector<size_t> InOrder(std::span<const Contender> contenders, const FairShares& shares) {
  const auto rank = [&](size_t index) {
    const Contender& one = contenders[index];
    // Preempted requests are not ranked by use and remaining prefill.
    const double used_ms = one.goes_on ? 0 : shares.UsedMs(one.name_space);
    const double left_ms = one.goes_on ? 0 : one.prefill_ms - one.waited_ms;
    return std::make_tuple(!one.goes_on, used_ms, left_ms, one.number);
  };
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace cairn
