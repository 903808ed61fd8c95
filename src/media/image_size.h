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

}  // namespace cairn

#endif  // CAIRN_MEDIA_IMAGE_SIZE_H_
