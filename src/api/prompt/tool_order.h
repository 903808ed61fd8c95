// ToolOrder: tools that a client sends in another order than before are shown in the order in which
// that conversation showed them first. They stand at the front of the prompt, so a mere shuffle
// would cost all of it.

#ifndef CAIRN_API_PROMPT_TOOL_ORDER_H_
#define CAIRN_API_PROMPT_TOOL_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/checkpoint_cache.h"
#include "chat/message.h"

namespace cairn {

// Any thread.
class ToolOrder {
 public:
  // Lists of more tools than this keep the client's order.
  static constexpr size_t kToolsMax = 256;

  // Remembers the order of `lists_max` lists; those unused for longest are forgotten.
  explicit ToolOrder(size_t lists_max) : lists_max_(lists_max) {}

  // Reorders the conversation's tools when the same ones, byte for byte, came before in the same
  // namespace after the same first user message. Else the order is remembered, and left.
  void Apply(NamespaceId name_space, Conversation* conversation);

  size_t lists() const;

 private:
  // The namespace, the hash of the first user message, that of the tools in any order. Met by
  // chance it gives an order that is not the first one, never other tools.
  using Key = std::tuple<NamespaceId, uint64_t, uint64_t>;
  struct List {
    Key key;
    std::vector<uint64_t> hashes;  // of the tools, in their first order
  };

  // The order in which the tools of these hashes came first.
  std::vector<uint64_t> FirstOrder(const Key& key, const std::vector<uint64_t>& hashes);

  const size_t lists_max_;
  mutable std::mutex mutex_;
  std::list<List> lists_;                            // last used first; guarded by mutex_
  std::map<Key, std::list<List>::iterator> by_key_;  // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_TOOL_ORDER_H_
