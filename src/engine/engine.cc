#include "engine/engine.h"

namespace cairn {

std::string_view MemoryClassName(MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::kAttention:
      return "attention";
    case MemoryClass::kSlidingWindow:
      return "sliding-window";
    case MemoryClass::kRecurrent:
      return "recurrent";
    case MemoryClass::kHybrid:
      return "hybrid";
  }
  return "unknown";
}

}  // namespace cairn
