#include "base/hash.h"

#include <xxhash.h>

#include <cstring>

namespace cairn {

uint64_t Hash64(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

Bits128 Hash128(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return {hash.high64, hash.low64};
}

void ListHash::AddText(std::string_view text) {
  const Bits128 hash = Hash128(text.data(), text.size());
  words_.insert(words_.end(), {hash.high, hash.low});
}

Bits128 ListHash::Hash() const {
  return Hash128(words_.data(), words_.size() * sizeof(uint64_t));
}

std::string ListHash::Key() const {
  const Bits128 hash = Hash();
  std::string key(sizeof(hash), '\0');
  std::memcpy(key.data(), &hash, sizeof(hash));
  return key;
}

uint64_t HashMix(uint64_t state, uint64_t value) {
  return Hash64(&value, sizeof value, state);
}

}  // namespace cairn
