// ToolOrder: puts the tools of a conversation into the order of its first request. Tools are at the
// start of the prompt, so another order would invalidate all of it.

#ifndef CAIRN_API_PROMPT_ORDER_TOOL_ORDER_H_
#define CAIRN_API_PROMPT_ORDER_TOOL_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cache/checkpoint_cache.h"
#include "chat/text/message.h"

namespace cairn {

// Threads: any.
class ToolOrder {
 public:
  // Lists of more tools keep the client's order.
  static constexpr size_t kToolsMax = 256;

  // Keeps the order of up to `lists_max` lists, evicting the least recently used.
  explicit ToolOrder(size_t lists_max) : lists_max_(lists_max) {}

  // Reorders the conversation's tools if the same tools, byte for byte, came before in the same
  // namespace with the same first user message. Otherwise records their order.
  void Apply(NamespaceId name_space, Conversation* conversation);

  size_t lists() const;

 private:
  // The namespace, the hash of the first user message, and the hash of the set of tools. A
  // collision gives another order, never other tools.
  using Key = std::tuple<NamespaceId, uint64_t, uint64_t>;
  struct List {
    Key key;
    std::vector<uint64_t> hashes;  // of the tools in their first order
  };

  // Returns the order in which these tools came first.
  std::vector<uint64_t> FirstOrder(const Key& key, const std::vector<uint64_t>& hashes);

  const size_t lists_max_;
  mutable Mutex mutex_;
  std::list<List> lists_ GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, std::list<List>::iterator> by_key_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_ORDER_TOOL_ORDER_H_
