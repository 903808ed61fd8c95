// KeyOrder: shows tools, and the arguments of earlier calls, with their keys in the order that the
// namespace's conversations know. Tools are at the start of the prompt, so a client that writes the
// same tools with other orders of keys would invalidate all of it. The meaning never changes:
// arrays, numbers and texts stay what they are.
//
// A tool has the order in which any conversation of the namespace had it first, so that a new
// conversation shares the tools of an earlier one. Arguments are shown as a model wrote them, or
// else as they came first.

#ifndef CAIRN_API_PROMPT_ORDER_KEY_ORDER_H_
#define CAIRN_API_PROMPT_ORDER_KEY_ORDER_H_

#include <cstddef>
#include <string_view>

#include "api/prompt/order/known_json.h"
#include "cache/checkpoint_cache.h"
#include "chat/text/message.h"

namespace cairn {

// Threads: any.
class KeyOrder {
 public:
  // Each limits the bytes of the texts that are kept.
  KeyOrder(size_t tool_bytes_max, size_t call_bytes_max)
      : tools_(tool_bytes_max), calls_(call_bytes_max) {}

  // Replaces the texts of tools and arguments that have a known order, and records the others.
  void Apply(NamespaceId name_space, Conversation* conversation);
  // Records the arguments that a model wrote.
  void Remember(NamespaceId name_space, std::string_view name, std::string_view arguments) {
    calls_.Remember(name_space, name, arguments);
  }

 private:
  void ApplyToTools(NamespaceId name_space, Tools* tools);

  KnownJson tools_;
  KnownJson calls_;
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_ORDER_KEY_ORDER_H_
