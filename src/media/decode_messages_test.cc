#include "media/decode_messages.h"

#include <gtest/gtest.h>

#include "testing/media/media_files.h"

namespace cairn {
namespace {

std::string RefusalOf(uint32_t width, uint32_t height) {
  const auto size = CheckImageSize(test::PngOf(width, height, {}), MediaLimits{});
  if (size) return "";
  EXPECT_EQ(size.error().code, ErrorCode::kInvalidArgument);
  return size.error().message;
}

TEST(MediaLimits, HoldForWidthHeightAndPixels) {
  EXPECT_EQ(RefusalOf(8000, 8000), "");
  EXPECT_EQ(RefusalOf(16'384, 1), "");
  EXPECT_EQ(RefusalOf(16'385, 1),
            "the image has 16385 x 1 pixels; the limit is 16384 pixels a side");
  EXPECT_EQ(RefusalOf(1, 16'385),
            "the image has 1 x 16385 pixels; the limit is 16384 pixels a side");
  EXPECT_EQ(RefusalOf(8001, 8000),
            "the image has 8001 x 8000 pixels; the limit is 64 million pixels");
}

TEST(MediaLimits, SayWhichFormatsThereAre) {
  const auto size = CheckImageSize(BytesOf("<svg/>"), MediaLimits{});
  ASSERT_FALSE(size.has_value());
  EXPECT_EQ(size.error().message, "the image is not a PNG, JPEG, GIF, BMP or WEBP file");
}

}  // namespace
}  // namespace cairn
