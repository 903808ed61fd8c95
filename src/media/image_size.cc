#include "media/image_size.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace cairn {
namespace {

constexpr uint32_t kSideMax = 0x7FFFFFFF;

// Reads numbers of a file at given places. A place behind the file's end gives zeros and is
// remembered.
class HeaderBytes {
 public:
  explicit HeaderBytes(ByteSpan file) : file_(file) {}

  bool cut_short() const { return cut_short_; }
  size_t size() const { return file_.size(); }

  uint32_t Byte(size_t at) {
    if (at < file_.size()) return file_[at];
    cut_short_ = true;
    return 0;
  }
  uint32_t Little16(size_t at) { return Byte(at) | Byte(at + 1) << 8U; }
  uint32_t Little24(size_t at) { return Little16(at) | Byte(at + 2) << 16U; }
  uint32_t Little32(size_t at) { return Little16(at) | Little16(at + 2) << 16U; }
  uint32_t Big16(size_t at) { return Byte(at) << 8U | Byte(at + 1); }
  uint32_t Big32(size_t at) { return Big16(at) << 16U | Big16(at + 2); }
  bool Has(size_t at, std::string_view text) const {
    if (at > file_.size() || file_.size() - at < text.size()) return false;
    return std::equal(text.begin(), text.end(), file_.begin() + static_cast<ptrdiff_t>(at),
                      [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
  }

 private:
  ByteSpan file_;
  bool cut_short_ = false;
};

struct Sides {
  uint32_t width = 0;
  uint32_t height = 0;
};

Sides PngSides(HeaderBytes* bytes) {
  if (!bytes->Has(8, {"\0\0\0\x0DIHDR", 8})) return {};
  return {bytes->Big32(16), bytes->Big32(20)};
}

// A frame header: markers C0 to CF without those of tables (C4, CC) and of extensions (C8).
bool IsJpegFrame(uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Markers that no length follows: TEM, the restarts and the start of the image.
bool IsLoneJpegMarker(uint32_t marker) {
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
}

Sides JpegSides(HeaderBytes* bytes) {
  size_t at = 2;
  while (at + 1 < bytes->size()) {
    const uint32_t marker = bytes->Byte(at + 1);
    // Encoders may pad between segments; any number of FF may precede a marker.
    if (bytes->Byte(at) != 0xFF || marker == 0xFF || marker == 0) {
      ++at;
      continue;
    }
    if (IsJpegFrame(marker)) return {bytes->Big16(at + 7), bytes->Big16(at + 5)};
    // Behind the end of the image, or the start of compressed data, no frame header begins.
    if (marker == 0xD9 || marker == 0xDA) return {};
    at += 2;
    if (!IsLoneJpegMarker(marker)) at += std::max<size_t>(2, bytes->Big16(at));
  }
  return {};
}

Sides GifSides(HeaderBytes* bytes) {
  return {bytes->Little16(6), bytes->Little16(8)};
}

Sides BmpSides(HeaderBytes* bytes) {
  const uint32_t header_bytes = bytes->Little32(14);
  if (header_bytes == 12) return {bytes->Little16(18), bytes->Little16(20)};
  if (header_bytes < 40) return {};
  const uint32_t height = bytes->Little32(22);
  // A negative height: the rows come from the top.
  return {bytes->Little32(18), height > kSideMax ? ~height + 1 : height};
}

Sides WebpSides(HeaderBytes* bytes) {
  if (bytes->Has(12, "VP8 ")) {
    if (!bytes->Has(23, "\x9D\x01\x2A")) return {};
    return {bytes->Little16(26) & 0x3FFFU, bytes->Little16(28) & 0x3FFFU};
  }
  if (bytes->Has(12, "VP8L")) {
    if (bytes->Byte(20) != 0x2F) return {};
    const uint32_t sides = bytes->Little32(21);
    return {(sides & 0x3FFFU) + 1, (sides >> 14U & 0x3FFFU) + 1};
  }
  if (bytes->Has(12, "VP8X")) return {bytes->Little24(24) + 1, bytes->Little24(27) + 1};
  return {};
}

// Two letters are few, so the size of the header behind the file's own must be a known one too.
bool IsBmp(HeaderBytes* bytes) {
  constexpr uint32_t kHeaderBytes[] = {12, 40, 52, 56, 64, 108, 124};
  return bytes->Has(0, "BM") && std::find(std::begin(kHeaderBytes), std::end(kHeaderBytes),
                                          bytes->Little32(14)) != std::end(kHeaderBytes);
}

Sides SidesOf(ImageFormat format, HeaderBytes* bytes) {
  switch (format) {
    case ImageFormat::kPng:
      return PngSides(bytes);
    case ImageFormat::kJpeg:
      return JpegSides(bytes);
    case ImageFormat::kGif:
      return GifSides(bytes);
    case ImageFormat::kBmp:
      return BmpSides(bytes);
    case ImageFormat::kWebp:
      return WebpSides(bytes);
  }
  return {};
}

}  // namespace

std::optional<ImageFormat> FindImageFormat(ByteSpan file) noexcept {
  HeaderBytes bytes(file);
  if (bytes.Has(0, "\x89PNG\r\n\x1A\n")) return ImageFormat::kPng;
  if (bytes.Has(0, "\xFF\xD8\xFF")) return ImageFormat::kJpeg;
  if (bytes.Has(0, "GIF87a") || bytes.Has(0, "GIF89a")) return ImageFormat::kGif;
  if (bytes.Has(0, "RIFF") && bytes.Has(8, "WEBP")) return ImageFormat::kWebp;
  if (IsBmp(&bytes)) return ImageFormat::kBmp;
  return std::nullopt;
}

std::string_view ImageFormatName(ImageFormat format) {
  switch (format) {
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kGif:
      return "GIF";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kWebp:
      return "WEBP";
  }
  return "";
}

tl::expected<ImageSize, ImageHeaderError> ReadImageSize(ByteSpan file) noexcept {
  const auto format = FindImageFormat(file);
  if (!format) return tl::unexpected(ImageHeaderError::kUnknownFormat);
  HeaderBytes bytes(file);
  const Sides sides = SidesOf(*format, &bytes);
  const bool valid = sides.width > 0 && sides.width <= kSideMax && sides.height > 0 &&
                     sides.height <= kSideMax && !bytes.cut_short();
  if (!valid) return tl::unexpected(ImageHeaderError::kBroken);
  return ImageSize{*format, sides.width, sides.height};
}

}  // namespace cairn
