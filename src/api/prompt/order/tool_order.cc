#include "api/prompt/order/tool_order.h"

#include <algorithm>

#include "api/json.h"
#include "base/hash.h"

namespace cairn {
namespace {

uint64_t FirstUserHash(const Conversation& conversation) {
  const auto& messages = conversation.messages;
  const auto first = std::find_if(messages.begin(), messages.end(), [](const Message& message) {
    return message.role == Role::kUser;
  });
  return first == messages.end() ? 0 : Hash64(first->content);
}

uint64_t HashOfSet(std::vector<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  return Hash64(hashes.data(), hashes.size() * sizeof(uint64_t));
}

}  // namespace

void ToolOrder::Apply(NamespaceId name_space, Conversation* conversation) {
  const Tools& tools = conversation->tools;
  if (tools.size() < 2 || tools.size() > kToolsMax) return;
  std::vector<uint64_t> hashes;
  std::multimap<uint64_t, size_t> by_hash;
  for (const Json& tool : tools.list()) {
    hashes.push_back(Hash64(ToText(tool)));
    by_hash.emplace(hashes.back(), hashes.size() - 1);
  }
  const Key key{name_space, FirstUserHash(*conversation), HashOfSet(hashes)};
  const std::vector<uint64_t> first = FirstOrder(key, hashes);
  if (first == hashes) return;
  std::vector<size_t> order;
  for (const uint64_t hash : first) {
    const auto tool = by_hash.find(hash);
    if (tool == by_hash.end()) return;
    order.push_back(tool->second);
    by_hash.erase(tool);
  }
  if (by_hash.empty()) conversation->tools = tools.Reordered(order);
}

size_t ToolOrder::lists() const {
  const MutexLock lock(mutex_);
  return lists_.size();
}

std::vector<uint64_t> ToolOrder::FirstOrder(const Key& key, const std::vector<uint64_t>& hashes) {
  const MutexLock lock(mutex_);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    lists_.splice(lists_.begin(), lists_, known->second);
    return known->second->hashes;
  }
  lists_.push_front({key, hashes});
  by_key_.emplace(key, lists_.begin());
  if (lists_.size() > lists_max_) {
    by_key_.erase(lists_.back().key);
    lists_.pop_back();
  }
  return hashes;
}

}  // namespace cairn
