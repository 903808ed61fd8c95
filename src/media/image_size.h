// ReadImageSize: the format and the size that the header of an image file declares, read without
// decoding the file. Checks against limits so need no decoder and no memory for pixels.
//
// Pure; any thread.

#ifndef CAIRN_MEDIA_IMAGE_SIZE_H_
#define CAIRN_MEDIA_IMAGE_SIZE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "base/result.h"
#include "media/medium.h"

namespace cairn {

enum class ImageFormat : uint8_t { kPng, kJpeg, kGif, kBmp, kWebp };
// Returns the format that the file begins as; it may still be broken. nullopt: none of these.
std::optional<ImageFormat> FindImageFormat(ByteSpan file) noexcept;
// Returns "PNG", "JPEG", "GIF", "BMP" or "WEBP".
std::string_view ImageFormatName(ImageFormat format);

struct ImageSize {
  ImageFormat format = ImageFormat::kPng;
  uint32_t width = 0;  // neither is 0
  uint32_t height = 0;

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

enum class ImageHeaderError : uint8_t {
  kUnknownFormat,  // the file begins as no format above does
  kBroken,         // the header is cut short, or declares no size
};

// Takes any bytes. Allocates nothing.
tl::expected<ImageSize, ImageHeaderError> ReadImageSize(ByteSpan file) noexcept;

// How a camera was held: the orientation in a JPEG file's EXIF data.
//
// Pure; any thread.

// The values of EXIF: the side of the upright picture at which the stored first row and the stored
// first column lie.
enum class ExifOrientation : uint8_t {
  kTopLeft = 1,  // upright as stored
  kTopRight = 2,
  kBottomRight = 3,
  kBottomLeft = 4,
  kLeftTop = 5,
  kRightTop = 6,
  kRightBottom = 7,
  kLeftBottom = 8,
};

// Takes any bytes. kTopLeft if the file is no JPEG file or tells no valid orientation.
ExifOrientation ReadExifOrientation(ByteSpan file);

// Turns and mirrors the image to be upright. kUnavailable if there is no memory for a second one;
// then the image is unchanged.
Status TurnUpright(ExifOrientation orientation, DecodedMedium* image);

}  // namespace cairn

#endif  // CAIRN_MEDIA_IMAGE_SIZE_H_
