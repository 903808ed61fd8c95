#include "media/decode/image_file.h"

#include <webp/decode.h>

#include <climits>
#include <cstring>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "media/image_size.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_GIF
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#include <stb/stb_image.h>

namespace cairn {
namespace {

constexpr int kRgbChannels = 3;

tl::unexpected<Error> Broken(const std::string& reason) {
  return Fail(ErrorCode::kInvalidArgument, "the image cannot be decoded: " + reason);
}

Result<DecodedMedium> EmptyImage(const ImageSize& size) {
  DecodedMedium image;
  image.kind = MediumKind::kImage;
  image.width = size.width;
  image.height = size.height;
  const Status resized = TryResize(&image.rgb, size_t{size.width} * size.height * kRgbChannels);
  if (!resized) return tl::unexpected(resized.error());
  return image;
}

struct StbiFree {
  void operator()(stbi_uc* pixels) const { stbi_image_free(pixels); }
};

Result<DecodedMedium> DecodeByStb(ByteSpan file, const ImageSize& size) {
  if (file.size() > INT_MAX) return Broken("the file is too large");
  int width = 0;
  int height = 0;
  int channels = 0;
  const std::unique_ptr<stbi_uc, StbiFree> pixels(stbi_load_from_memory(
      file.data(), static_cast<int>(file.size()), &width, &height, &channels, kRgbChannels));
  if (pixels == nullptr) {
    const char* const reason = stbi_failure_reason();
    return Broken(reason == nullptr ? "the file is broken" : reason);
  }
  if (width != static_cast<int>(size.width) || height != static_cast<int>(size.height)) {
    return Broken("it declares two sizes");
  }
  Result<DecodedMedium> image = EmptyImage(size);
  if (image) std::memcpy(image->rgb.data(), pixels.get(), image->rgb.size());
  return image;
}

Result<DecodedMedium> DecodeByWebp(ByteSpan file, const ImageSize& size) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) {
    return Broken("the file is broken");
  }
  if (features.has_animation != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "the image is an animated WEBP file, which is not supported");
  }
  if (features.width != static_cast<int>(size.width) ||
      features.height != static_cast<int>(size.height)) {
    return Broken("it declares two sizes");
  }
  Result<DecodedMedium> image = EmptyImage(size);
  if (!image) return image;
  const auto stride = static_cast<int>(size.width) * kRgbChannels;
  if (WebPDecodeRGBInto(file.data(), file.size(), image->rgb.data(), image->rgb.size(), stride) ==
      nullptr) {
    return Broken("the file is broken");
  }
  return image;
}

}  // namespace

Result<DecodedMedium> DecodeImageFile(ByteSpan file, const ImageSize& size) {
  if (size.format == ImageFormat::kWebp) return DecodeByWebp(file, size);
  Result<DecodedMedium> image = DecodeByStb(file, size);
  if (!image || size.format != ImageFormat::kJpeg) return image;
  const Status upright = TurnUpright(ReadExifOrientation(file), &*image);
  if (!upright) return tl::unexpected(upright.error());
  return image;
}

}  // namespace cairn
