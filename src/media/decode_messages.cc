#include "media/decode_messages.h"

#include <string>

namespace cairn {
namespace {

std::string SidesText(uint32_t width, uint32_t height) {
  return std::to_string(width) + " x " + std::to_string(height) + " pixels";
}

}  // namespace

Result<ImageSize> CheckImageSize(ByteSpan file, const MediaLimits& limits) {
  const auto size = ReadImageSize(file);
  if (!size && size.error() == ImageHeaderError::kUnknownFormat) {
    return Fail(ErrorCode::kInvalidArgument, "the image is not a PNG, JPEG, GIF, BMP or WEBP file");
  }
  if (!size) {
    return Fail(ErrorCode::kInvalidArgument,
                "the image cannot be decoded: its header is broken or cut short");
  }
  const std::string sides = SidesText(size->width, size->height);
  if (size->width > limits.side_max || size->height > limits.side_max) {
    return Fail(ErrorCode::kInvalidArgument, "the image has " + sides + "; the limit is " +
                                                 std::to_string(limits.side_max) +
                                                 " pixels a side");
  }
  if (uint64_t{size->width} * size->height > limits.pixels_max) {
    return Fail(ErrorCode::kInvalidArgument, "the image has " + sides + "; the limit is " +
                                                 std::to_string(limits.pixels_max / 1'000'000) +
                                                 " million pixels");
  }
  return *size;
}

}  // namespace cairn
