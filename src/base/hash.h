// Hash64: the one non-cryptographic hash of the project (XXH3). A hash may find things; it never
// decides that two things are equal.

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

// Folds `value` into the running hash `state`; order matters.
uint64_t HashMix(uint64_t state, uint64_t value);

}  // namespace cairn

#endif  // CAIRN_BASE_HASH_H_
