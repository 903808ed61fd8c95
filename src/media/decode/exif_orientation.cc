#include "media/decode/exif_orientation.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/allocate.h"
#include "base/bytes.h"

namespace cairn {
namespace {

constexpr size_t kChannels = 3;
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
      std::memcpy(upright.data() + place * kChannels, from, kChannels);
      from += kChannels;
    }
  }
  image->rgb = std::move(upright);
  image->width = static_cast<uint32_t>(width);
  image->height = static_cast<uint32_t>(height);
  return {};
}

}  // namespace cairn
