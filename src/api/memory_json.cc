#include "api/memory_json.h"

namespace cairn {

Json MemoryJson(const MemoryTraits& traits) {
  return {{"memory_class", MemoryClassName(traits.memory_class)},
          {"snapshot_bytes", traits.snapshot_bytes},
          {"kv_bytes_per_token", traits.kv_bytes_per_token},
          {"window_tokens", traits.window_tokens},
          {"grid_tokens", traits.grid_tokens},
          {"grid_measured", traits.grid_measured},
          {"segments", traits.segments}};
}

}  // namespace cairn
