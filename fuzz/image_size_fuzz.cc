// Headers of images: any bytes give a size within the format's own bounds, or an error. A file's
// size is that of its longer beginnings too, and its orientation is one of eight.

#include <cstdint>

#include "base/check.h"
#include "fuzz/input.h"
#include "media/image_size.h"

namespace cairn {
namespace {

uint32_t SideMax(ImageFormat format) {
  switch (format) {
    case ImageFormat::kGif:
    case ImageFormat::kJpeg:
      return 0xFFFF;
    case ImageFormat::kWebp:
      return 1U << 24U;
    case ImageFormat::kPng:
    case ImageFormat::kBmp:
      break;
  }
  return 0x7FFFFFFF;
}

void CheckFile(ByteSpan file, size_t cut) {
  const auto size = ReadImageSize(file);
  if (size) {
    CHECK(size->width > 0 && size->width <= SideMax(size->format));
    CHECK(size->height > 0 && size->height <= SideMax(size->format));
  }
  const auto of_beginning = ReadImageSize(file.first(cut));
  if (of_beginning) CHECK(size && *size == *of_beginning);
  const auto orientation = static_cast<int>(ReadExifOrientation(file));
  CHECK(orientation >= 1 && orientation <= 8);
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::FuzzInput input(data, size);
  const size_t cut = input.Below(256);
  const cairn::ByteSpan file = input.Rest();
  cairn::CheckFile(file, std::min(cut, file.size()));
  return 0;
}
