// MsgpackWriter: appends values in msgpack, each in its shortest form. The caller writes as many
// values after an array's or a map's header as it announces.

#ifndef CAIRN_EVENTS_MSGPACK_WRITER_H_
#define CAIRN_EVENTS_MSGPACK_WRITER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {

class MsgpackWriter {
 public:
  void Nil() { Byte(0xc0); }
  void Number(double value) {
    Byte(0xcb);
    BigEndian(std::bit_cast<uint64_t>(value), 8);
  }
  void Unsigned(uint64_t value) {
    if (value < 0x80) return Byte(static_cast<uint8_t>(value));
    if (value <= 0xff) return Sized(0xcc, value, 1);
    if (value <= 0xffff) return Sized(0xcd, value, 2);
    if (value <= 0xffffffff) return Sized(0xce, value, 4);
    Sized(0xcf, value, 8);
  }
  void Text(std::string_view text) {
    const size_t size = text.size();
    if (size < 32) {
      Byte(static_cast<uint8_t>(0xa0 | size));
    } else if (size <= 0xff) {
      Sized(0xd9, size, 1);
    } else {
      size <= 0xffff ? Sized(0xda, size, 2) : Sized(0xdb, size, 4);
    }
    bytes_ += text;
  }
  void Array(size_t size) {
    if (size < 16) return Byte(static_cast<uint8_t>(0x90 | size));
    size <= 0xffff ? Sized(0xdc, size, 2) : Sized(0xdd, size, 4);
  }
  void Map(size_t size) {
    if (size < 16) return Byte(static_cast<uint8_t>(0x80 | size));
    size <= 0xffff ? Sized(0xde, size, 2) : Sized(0xdf, size, 4);
  }

  std::string Take() { return std::move(bytes_); }

 private:
  void Byte(uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }
  void BigEndian(uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) Byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Sized(uint8_t type, uint64_t value, unsigned bytes) {
    Byte(type);
    BigEndian(value, bytes);
  }

  std::string bytes_;
};

}  // namespace cairn

#endif  // CAIRN_EVENTS_MSGPACK_WRITER_H_
