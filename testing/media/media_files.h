// Files of images and recordings for tests: makers of the simple formats, and kept files of the
// others (testdata/media). All pictures are red on the left half and blue on the right.

#ifndef CAIRN_TESTING_MEDIA_MEDIA_FILES_H_
#define CAIRN_TESTING_MEDIA_MEDIA_FILES_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace cairn::test {

class FileMaker {
 public:
  FileMaker& Text(std::string_view text) {
    file_.insert(file_.end(), text.begin(), text.end());
    return *this;
  }
  FileMaker& Byte(uint32_t value) {
    file_.push_back(static_cast<uint8_t>(value));
    return *this;
  }
  FileMaker& Little16(uint32_t value) { return Byte(value).Byte(value >> 8U); }
  FileMaker& Little32(uint32_t value) { return Little16(value).Little16(value >> 16U); }
  FileMaker& Big16(uint32_t value) { return Byte(value >> 8U).Byte(value); }
  FileMaker& Big32(uint32_t value) { return Big16(value >> 16U).Big16(value); }
  FileMaker& Append(ByteSpan bytes) {
    file_.insert(file_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  FileMaker& Pad(size_t multiple) {
    while (file_.size() % multiple != 0) Byte(0);
    return *this;
  }
  const Bytes& file() const { return file_; }

 private:
  Bytes file_;
};

inline uint32_t Crc32(ByteSpan bytes) {
  uint32_t crc = ~0U;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

inline uint32_t Adler32(ByteSpan bytes) {
  uint32_t a = 1;
  uint32_t b = 0;
  for (const uint8_t byte : bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16U | a;
}

// Returns width x height pixels of three bytes.
inline Bytes RedBlue(uint32_t width, uint32_t height) {
  FileMaker pixels;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      const bool red = x < width / 2;
      pixels.Byte(red ? 255 : 0).Byte(0).Byte(red ? 0 : 255);
    }
  }
  return pixels.file();
}

inline void AppendPngChunk(std::string_view name, ByteSpan content, FileMaker* png) {
  const Bytes named = FileMaker().Text(name).Append(content).file();
  png->Big32(static_cast<uint32_t>(content.size())).Append(named).Big32(Crc32(named));
}

// Returns the content as a zlib stream without compression.
inline Bytes StoredZlib(ByteSpan content) {
  FileMaker zlib;
  zlib.Byte(0x78).Byte(0x01);
  for (size_t at = 0; at < content.size() || at == 0;) {
    const size_t count = std::min<size_t>(content.size() - at, 65535);
    zlib.Byte(at + count == content.size() ? 1 : 0);
    zlib.Little16(static_cast<uint32_t>(count)).Little16(~static_cast<uint32_t>(count));
    zlib.Append(content.subspan(at, count));
    at += std::max<size_t>(count, 1);
  }
  return zlib.Big32(Adler32(content)).file();
}

// A PNG file that declares this size and has `scanlines` as its zlib stream.
inline Bytes PngOf(uint32_t width, uint32_t height, ByteSpan zlib) {
  FileMaker header;
  header.Big32(width).Big32(height).Byte(8).Byte(2).Byte(0).Byte(0).Byte(0);
  FileMaker png;
  png.Text("\x89PNG\r\n\x1A\n");
  AppendPngChunk("IHDR", header.file(), &png);
  AppendPngChunk("IDAT", zlib, &png);
  AppendPngChunk("IEND", {}, &png);
  return png.file();
}

inline Bytes RedBluePng(uint32_t width, uint32_t height) {
  const Bytes pixels = RedBlue(width, height);
  FileMaker scanlines;
  for (uint32_t y = 0; y < height; ++y) {
    scanlines.Byte(0).Append(ByteSpan(pixels).subspan(size_t{y} * width * 3, size_t{width} * 3));
  }
  return PngOf(width, height, StoredZlib(scanlines.file()));
}

inline Bytes RedBlueBmp(uint32_t width, uint32_t height) {
  FileMaker rows;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      const bool red = x < width / 2;
      rows.Byte(red ? 0 : 255).Byte(0).Byte(red ? 255 : 0);
    }
    rows.Pad(4);
  }
  const auto bytes = static_cast<uint32_t>(rows.file().size());
  FileMaker bmp;
  bmp.Text("BM").Little32(54 + bytes).Little32(0).Little32(54);
  bmp.Little32(40).Little32(width).Little32(height).Little16(1).Little16(24).Little32(0);
  bmp.Little32(bytes).Little32(2835).Little32(2835).Little32(0).Little32(0);
  return bmp.Append(rows.file()).file();
}

// Each pixel is a code of three bits of its own: the table is cleared before it could grow.
inline Bytes RedBlueGif(uint32_t width, uint32_t height) {
  constexpr uint32_t kClear = 4;
  constexpr uint32_t kEnd = 5;
  FileMaker codes;
  uint32_t bits = 0;
  uint32_t held = 0;
  const auto put = [&](uint32_t code) {
    held |= code << bits;
    for (bits += 3; bits >= 8; bits -= 8) {
      codes.Byte(held);
      held >>= 8U;
    }
  };
  for (uint32_t i = 0; i < width * height; ++i) {
    if (i % 2 == 0) put(kClear);
    put(i % width < width / 2 ? 0 : 1);
  }
  put(kEnd);
  if (bits > 0) codes.Byte(held);
  FileMaker gif;
  gif.Text("GIF89a").Little16(width).Little16(height).Byte(0x80).Byte(0).Byte(0);
  gif.Byte(255).Byte(0).Byte(0).Byte(0).Byte(0).Byte(255);
  gif.Byte(0x2C).Little16(0).Little16(0).Little16(width).Little16(height).Byte(0).Byte(2);
  for (ByteSpan rest = codes.file(); !rest.empty();) {
    const ByteSpan block = rest.first(std::min<size_t>(rest.size(), 255));
    gif.Byte(static_cast<uint32_t>(block.size())).Append(block);
    rest = rest.subspan(block.size());
  }
  return gif.Byte(0).Byte(0x3B).file();
}

// A recording of 16-bit samples.
inline Bytes WavOf(uint32_t rate, uint32_t channels, const std::vector<int16_t>& samples) {
  const auto bytes = static_cast<uint32_t>(samples.size() * 2);
  FileMaker wav;
  wav.Text("RIFF").Little32(36 + bytes).Text("WAVEfmt ").Little32(16).Little16(1);
  wav.Little16(channels).Little32(rate).Little32(rate * channels * 2).Little16(channels * 2);
  wav.Little16(16).Text("data").Little32(bytes);
  for (const int16_t sample : samples) wav.Little16(static_cast<uint16_t>(sample));
  return wav.file();
}

// A tone of 440 Hz at half the full level.
inline std::vector<int16_t> Tone(uint32_t rate, size_t count) {
  std::vector<int16_t> samples;
  for (size_t i = 0; i < count; ++i) {
    const double turn = 2 * 3.14159265358979 * 440 * static_cast<double>(i) / rate;
    samples.push_back(static_cast<int16_t>(16383 * std::sin(turn)));
  }
  return samples;
}

// Reads a file of testdata/media.
inline Bytes KeptMediaFile(const std::string& name) {
  std::ifstream in(std::string(CAIRN_SOURCE_DIR) + "/testdata/media/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A PNG file whose few bytes stand for very many.

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

#endif  // CAIRN_TESTING_MEDIA_MEDIA_FILES_H_
