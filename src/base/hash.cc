#include "base/hash.h"

#include <xxhash.h>

namespace cairn {

uint64_t Hash64(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t HashMix(uint64_t state, uint64_t value) {
  return Hash64(&value, sizeof value, state);
}

}  // namespace cairn
