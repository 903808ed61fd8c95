// A PNG file whose few bytes stand for very many.

#ifndef CAIRN_TESTING_MEDIA_ZIP_BOMB_H_
#define CAIRN_TESTING_MEDIA_ZIP_BOMB_H_

#include <cstddef>
#include <cstdint>

#include "testing/media/media_files.h"

namespace cairn::test {

// Writes bits from the lowest of each byte on, as deflate does.
class BitMaker {
 public:
  void Put(uint32_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i) PutBit(value >> i & 1U);
  }
  // Huffman codes come from their highest bit on.
  void PutCode(uint32_t code, unsigned count) {
    for (unsigned i = count; i > 0; --i) PutBit(code >> (i - 1) & 1U);
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  void PutBit(uint32_t bit) {
    if (bits_++ % 8 == 0) bytes_.push_back(0);
    bytes_.back() |= static_cast<uint8_t>(bit << (bits_ - 1) % 8);
  }

  Bytes bytes_;
  size_t bits_ = 0;
};

// Returns a zlib stream of `count` zeros, or a few fewer: a zero, then copies of it, 258 at a time.
inline Bytes ZlibOfZeros(size_t count) {
  constexpr size_t kLongestCopy = 258;
  BitMaker bits;
  bits.Put(0x0178, 16);
  bits.Put(1, 1);  // the last block
  bits.Put(1, 2);  // of fixed codes
  bits.PutCode(0x30, 8);
  for (size_t i = 0; i < count / kLongestCopy; ++i) {
    bits.PutCode(0xC5, 8);  // 258 bytes
    bits.PutCode(0, 5);     // from one byte back
  }
  bits.PutCode(0, 7);  // the end
  return bits.bytes();
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_MEDIA_ZIP_BOMB_H_
