#include "media/image_size.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/bytes.h"

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

constexpr size_t kPixelBytes = 3;
constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShortType = 3;

// Returns the part of `bytes` from `at`; empty if there is none.
ByteSpan From(ByteSpan bytes, size_t at) {
  return at < bytes.size() ? bytes.subspan(at) : ByteSpan();
}

// A TIFF structure's numbers are big-endian or little-endian, as its first letters say. Places
// behind the end have zeros.
class Tiff {
 public:
  explicit Tiff(ByteSpan bytes) : bytes_(bytes), big_(StartsWith(bytes, "MM")) {}

  bool valid() const { return big_ || StartsWith(bytes_, "II"); }
  uint32_t Number16(size_t at) const {
    return big_ ? Byte(at) << 8U | Byte(at + 1) : Byte(at) | Byte(at + 1) << 8U;
  }
  uint32_t Number32(size_t at) const {
    return big_ ? Number16(at) << 16U | Number16(at + 2) : Number16(at) | Number16(at + 2) << 16U;
  }

 private:
  uint32_t Byte(size_t at) const { return at < bytes_.size() ? bytes_[at] : 0; }

  ByteSpan bytes_;
  bool big_;
};

ExifOrientation OrientationIn(const Tiff& tiff) {
  if (!tiff.valid()) return ExifOrientation::kTopLeft;
  const size_t directory = tiff.Number32(4);
  const size_t entries = tiff.Number16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * 12;
    if (tiff.Number16(entry) != kOrientationTag) continue;
    const uint32_t value = tiff.Number16(entry + 8);
    if (tiff.Number16(entry + 2) != kShortType || value < 1 || value > 8) break;
    return static_cast<ExifOrientation>(value);
  }
  return ExifOrientation::kTopLeft;
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

ExifOrientation ReadExifOrientation(ByteSpan file) {
  if (!StartsWith(file, "\xFF\xD8")) return ExifOrientation::kTopLeft;
  for (ByteSpan left = From(file, 2); left.size() >= 4 && left[0] == 0xFF;) {
    const size_t length = size_t{left[2]} << 8U | left[3];
    const bool application_data = left[1] >= 0xE0 && left[1] <= 0xEF;
    const ByteSpan content =
        left.subspan(4, std::min(std::max<size_t>(length, 2) - 2, left.size() - 4));
    if (left[1] == 0xE1 && StartsWith(content, {"Exif\0\0", 6})) {
      return OrientationIn(Tiff(content.subspan(6)));
    }
    // Application data stand before all that makes up the picture; comments may be among them.
    if (!application_data && left[1] != 0xFE) break;
    left = From(left, 2 + std::max<size_t>(length, 2));
  }
  return ExifOrientation::kTopLeft;
}

Status TurnUpright(ExifOrientation orientation, DecodedMedium* image) {
  if (orientation == ExifOrientation::kTopLeft) return {};
  const auto value = static_cast<unsigned>(orientation);
  const bool turned = value >= 5;  // stored rows are columns of the picture
  const size_t width = turned ? image->height : image->width;
  const size_t height = turned ? image->width : image->height;
  // Where the stored rows and columns run backwards.
  const bool rows_back = value == 3 || value == 4 || value == 6 || value == 7;
  const bool columns_back = value == 2 || value == 3 || value == 7 || value == 8;
  Bytes upright;
  Status resized = TryResize(&upright, image->rgb.size());
  if (!resized) return resized;
  const uint8_t* from = image->rgb.data();
  for (size_t row = 0; row < image->height; ++row) {
    const size_t y = rows_back ? image->height - 1 - row : row;
    for (size_t column = 0; column < image->width; ++column) {
      const size_t x = columns_back ? image->width - 1 - column : column;
      const size_t place = turned ? x * width + y : y * width + x;
      std::memcpy(upright.data() + place * kPixelBytes, from, kPixelBytes);
      from += kPixelBytes;
    }
  }
  image->rgb = std::move(upright);
  image->width = static_cast<uint32_t>(width);
  image->height = static_cast<uint32_t>(height);
  return {};
}

}  // namespace cairn
