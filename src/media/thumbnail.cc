#include "media/thumbnail.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/check.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace cairn {
namespace {

constexpr int kChannels = 3;
// A pixel of the thumbnail is the mean of so many pixels of its area, along each side, at equal
// distances. More would change nothing that one can see, and an image may have 64 million.
constexpr uint32_t kSamplesMax = 8;

// The offsets, along one side of the image, of the pixels that one pixel of the thumbnail is made
// from.
using Samples = std::vector<uint32_t>;

// Returns the length of a side beside the longer one of the image.
uint32_t ScaledSide(uint32_t side, uint32_t longer) {
  const uint64_t scaled = (uint64_t{side} * kThumbnailSideMax + longer / 2) / longer;
  return std::max(static_cast<uint32_t>(scaled), 1U);
}

// Divides a side of the image among the pixels of the thumbnail. REQUIRES: scaled <= side.
std::vector<Samples> SamplesOf(uint32_t side, uint32_t scaled) {
  std::vector<Samples> all(scaled);
  for (uint32_t i = 0; i < scaled; ++i) {
    const auto begin = static_cast<uint32_t>(uint64_t{i} * side / scaled);
    const auto end = static_cast<uint32_t>((uint64_t{i} + 1) * side / scaled);
    const uint32_t count = std::min(end - begin, kSamplesMax);
    for (uint32_t k = 0; k < count; ++k) {
      all[i].push_back(begin + (2 * k + 1) * (end - begin) / (2 * count));
    }
  }
  return all;
}

// Writes the mean of the pixels to `rgb`.
void WriteMean(const DecodedMedium& image, const Samples& xs, const Samples& ys, uint8_t* rgb) {
  std::array<uint32_t, kChannels> sums = {};
  for (const uint32_t y : ys) {
    for (const uint32_t x : xs) {
      const uint8_t* const pixel = &image.rgb[(size_t{y} * image.width + x) * kChannels];
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += pixel[i];
    }
  }
  const auto count = static_cast<uint32_t>(xs.size() * ys.size());
  for (const uint32_t sum : sums) *rgb++ = static_cast<uint8_t>((sum + count / 2) / count);
}

// `file` is the Bytes that `data` is appended to.
void AppendTo(void* file, void* data, int size) {
  const auto* const bytes = static_cast<const uint8_t*>(data);
  auto* const all = static_cast<Bytes*>(file);
  all->insert(all->end(), bytes, bytes + size);
}

Bytes EncodePng(const uint8_t* rgb, uint32_t width, uint32_t height) {
  Bytes file;
  const int stride = static_cast<int>(width) * kChannels;
  const int written = stbi_write_png_to_func(AppendTo, &file, static_cast<int>(width),
                                             static_cast<int>(height), kChannels, rgb, stride);
  if (written == 0) file.clear();
  return file;
}

}  // namespace

Bytes MakeThumbnail(const DecodedMedium& image) {
  CHECK(image.kind == MediumKind::kImage && image.width > 0 && image.height > 0);
  CHECK(image.rgb.size() == size_t{image.width} * image.height * kChannels);
  const uint32_t longer = std::max(image.width, image.height);
  if (longer <= kThumbnailSideMax) return EncodePng(image.rgb.data(), image.width, image.height);
  const std::vector<Samples> xs = SamplesOf(image.width, ScaledSide(image.width, longer));
  const std::vector<Samples> ys = SamplesOf(image.height, ScaledSide(image.height, longer));
  Bytes rgb(xs.size() * ys.size() * kChannels);
  uint8_t* pixel = rgb.data();
  for (const Samples& y : ys) {
    for (const Samples& x : xs) {
      WriteMean(image, x, y, pixel);
      pixel += kChannels;
    }
  }
  return EncodePng(rgb.data(), static_cast<uint32_t>(xs.size()), static_cast<uint32_t>(ys.size()));
}

}  // namespace cairn
