// KvEvent: one event of vLLM's KV events (docs/kv_events.md), and a batch of them in msgpack.
//
// Plain data and pure functions; any thread.

#ifndef CAIRN_FLEET_EVENTS_KV_EVENT_H_
#define CAIRN_FLEET_EVENTS_KV_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree/prefix_change.h"

namespace cairn {

// Tokens of a published block.
inline constexpr size_t kEventBlockTokens = 64;

struct KvEvent {
  enum class Kind : uint8_t { kStored, kRemoved, kCleared };
  Kind kind = Kind::kStored;
  PrefixTier tier = PrefixTier::kMemory;  // not of kCleared
  std::vector<uint64_t> blocks = {};      // hashes; of kStored each follows the one before it
  std::optional<uint64_t> parent = {};    // of kStored: the block before the first, if there is one
  std::vector<uint32_t> token_ids = {};   // of kStored: those of all the blocks
};

// The payload of a batch: the array [time, events, rank]. `time_s`: seconds since 1970.
std::string PackEvents(double time_s, std::span<const KvEvent> events);

}  // namespace cairn

#endif  // CAIRN_FLEET_EVENTS_KV_EVENT_H_
