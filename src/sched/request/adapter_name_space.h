// The namespace of a request that LoRA adapters are applied to: that of its key and of its set of
// adapters. States of one set are never found by a request of another, in slots, in the cache or on
// disk, because all of these ask for the namespace.

#ifndef CAIRN_SCHED_REQUEST_ADAPTER_NAME_SPACE_H_
#define CAIRN_SCHED_REQUEST_ADAPTER_NAME_SPACE_H_

#include <cstdint>

#include "cache/objects/segment_index.h"

namespace cairn {

inline constexpr unsigned kKeyBits = 20;
inline constexpr NamespaceId kKeysMax = NamespaceId{1} << kKeyBits;

// The number 0 is the set of a server that was just started. REQUIRES: key < kKeysMax; set < 2^44.
inline NamespaceId WithAdapters(NamespaceId key, uint64_t set) {
  return key | set << kKeyBits;
}

// The set of adapters (engine/adapters/adapter_sets.h) of a namespace.
inline uint64_t AdapterSetOf(NamespaceId name_space) {
  return name_space >> kKeyBits;
}

// The namespace of the key alone: fairness and ownership ask for no more.
inline NamespaceId OwnerOf(NamespaceId name_space) {
  return name_space & (kKeysMax - 1);
}

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_ADAPTER_NAME_SPACE_H_
