#include "media/thumbnail.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>

#include "media/decode/image_file.h"
#include "media/image_size.h"
#include "testing/media/media_files.h"

namespace cairn::thumbnail_test {
namespace {

using Pixel = std::array<uint8_t, 3>;

DecodedMedium Image(uint32_t width, uint32_t height, Bytes rgb) {
  DecodedMedium image;
  image.width = width;
  image.height = height;
  image.rgb = std::move(rgb);
  return image;
}
DecodedMedium Grey(uint32_t width, uint32_t height) {
  return Image(width, height, Bytes(size_t{width} * height * 3, 200));
}

// Decodes the file with the decoder of clients' images.
DecodedMedium Decoded(const Bytes& file) {
  const auto size = ReadImageSize(file);
  EXPECT_TRUE(size.has_value());
  if (!size) return {};
  EXPECT_EQ(size->format, ImageFormat::kPng);
  auto image = DecodeImageFile(file, *size);
  EXPECT_TRUE(image.has_value()) << image.error().message;
  return image ? *std::move(image) : DecodedMedium();
}

Pixel PixelAt(const DecodedMedium& image, uint32_t x, uint32_t y) {
  const uint8_t* const at = &image.rgb[(size_t{y} * image.width + x) * 3];
  return {at[0], at[1], at[2]};
}

const Pixel kRed = {255, 0, 0};
const Pixel kBlue = {0, 0, 255};

TEST(MakeThumbnail, ShowsTheSamePictureInSmall) {
  const DecodedMedium small = Decoded(MakeThumbnail(Image(640, 480, test::RedBlue(640, 480))));
  ASSERT_EQ(small.width, kThumbnailSideMax);
  ASSERT_EQ(small.height, 72U);
  for (const uint32_t y : {0U, 35U, 71U}) {
    EXPECT_EQ(PixelAt(small, 0, y), kRed) << y;
    EXPECT_EQ(PixelAt(small, 44, y), kRed) << y;
    EXPECT_EQ(PixelAt(small, 51, y), kBlue) << y;
    EXPECT_EQ(PixelAt(small, 95, y), kBlue) << y;
  }
}

TEST(MakeThumbnail, LeavesASmallImageAsItIs) {
  const DecodedMedium image = Image(40, 96, test::RedBlue(40, 96));
  const DecodedMedium small = Decoded(MakeThumbnail(image));
  EXPECT_EQ(small.width, 40U);
  EXPECT_EQ(small.height, 96U);
  EXPECT_EQ(small.rgb, image.rgb);
}

TEST(MakeThumbnail, HasAPixelOfEverySideHoweverLongTheOtherIs) {
  struct Case {
    uint32_t width, height, small_width, small_height;
  };
  for (const Case& one :
       {Case{1, 16384, 1, 96}, Case{16384, 1, 96, 1}, Case{2, 97, 2, 96}, Case{97, 96, 96, 95},
        Case{16384, 200, 96, 1}, Case{200, 16384, 1, 96}, Case{1, 1, 1, 1}, Case{96, 1, 96, 1}}) {
    const DecodedMedium small = Decoded(MakeThumbnail(Grey(one.width, one.height)));
    EXPECT_EQ(small.width, one.small_width) << one.width << " x " << one.height;
    EXPECT_EQ(small.height, one.small_height) << one.width << " x " << one.height;
    for (const uint8_t value : small.rgb) EXPECT_NEAR(value, 200, 1);
  }
}

// The pixels of a large image are not all read.
TEST(MakeThumbnail, HasBothEndsOfATallImage) {
  constexpr uint32_t kHeight = 9999;
  Bytes rgb(size_t{3} * kHeight, 0);
  for (size_t i = 0; i < rgb.size(); i += 3) rgb[i < rgb.size() / 2 ? i : i + 2] = 255;
  const DecodedMedium small = Decoded(MakeThumbnail(Image(1, kHeight, std::move(rgb))));
  ASSERT_EQ(small.height, kThumbnailSideMax);
  for (const uint32_t y : {0U, 20U, 45U}) EXPECT_EQ(PixelAt(small, 0, y), kRed) << y;
  for (const uint32_t y : {50U, 75U, 95U}) EXPECT_EQ(PixelAt(small, 0, y), kBlue) << y;
}

TEST(MakeThumbnail, IsASmallFileEvenOfNoise) {
  std::mt19937 random(1);
  Bytes rgb(size_t{3} * kThumbnailSideMax * kThumbnailSideMax, 0);
  for (uint8_t& value : rgb) value = static_cast<uint8_t>(random());
  const DecodedMedium image = Image(kThumbnailSideMax, kThumbnailSideMax, std::move(rgb));
  const Bytes file = MakeThumbnail(image);
  EXPECT_LE(file.size(), size_t{28} << 10U);
  EXPECT_EQ(Decoded(file).rgb, image.rgb);
}

}  // namespace
}  // namespace cairn::thumbnail_test
