// Hash64, Hash128: the only non-cryptographic hash of the project (XXH3), in two widths. A hash may
// find things; it never decides that two things are equal.
//
// Both are part of the disk format (docs/format.md).

#ifndef CAIRN_BASE_HASH_H_
#define CAIRN_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn {

uint64_t Hash64(const void* bytes, size_t size, uint64_t seed = 0);

inline uint64_t Hash64(std::string_view text, uint64_t seed = 0) {
  return Hash64(text.data(), text.size(), seed);
}

struct Bits128 {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Bits128&, const Bits128&) = default;
};

Bits128 Hash128(const void* bytes, size_t size);

// Mixes `value` into the running hash `state`; the order of calls matters.
uint64_t HashMix(uint64_t state, uint64_t value);

}  // namespace cairn

#endif  // CAIRN_BASE_HASH_H_
