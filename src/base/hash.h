// Hash64, Hash128: the only non-cryptographic hash of the project (XXH3), in two widths. Hash64 may
// find things; it never decides that two things are equal: compare them, or use Hash128.
//
// Both are part of the disk format (docs/format.md).

#ifndef CAIRN_BASE_HASH_H_
#define CAIRN_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Hashes a list of numbers and texts in 128 bits, in their order.
class ListHash {
 public:
  void AddNumber(uint64_t number) { words_.push_back(number); }
  void AddText(std::string_view text);
  Bits128 Hash() const;
  // Returns the bits of Hash() as a key for maps.
  std::string Key() const;

 private:
  std::vector<uint64_t> words_;
};

// Mixes `value` into the running hash `state`; the order of calls matters.
uint64_t HashMix(uint64_t state, uint64_t value);

}  // namespace cairn

#endif  // CAIRN_BASE_HASH_H_
