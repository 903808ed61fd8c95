#include "base/hash.h"

#include <xxhash.h>

namespace cairn {

uint64_t Hash64(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

Bits128 Hash128(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return {hash.high64, hash.low64};
}

uint64_t HashMix(uint64_t state, uint64_t value) {
  return Hash64(&value, sizeof value, state);
}

}  // namespace cairn
