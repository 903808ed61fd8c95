#include "media/image_size.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/media/media_files.h"

namespace cairn {
namespace {

using test::FileMaker;

ImageSize SizeOf(const Bytes& file) {
  const auto size = ReadImageSize(file);
  EXPECT_TRUE(size.has_value());
  return size.value_or(ImageSize{});
}

Bytes JpegHeader(uint32_t frame_marker, uint32_t width, uint32_t height) {
  FileMaker jpeg;
  jpeg.Big16(0xFFD8).Big16(0xFFE0).Big16(4).Big16(0);
  jpeg.Byte(0xFF).Byte(frame_marker).Big16(11).Byte(8).Big16(height).Big16(width);
  return jpeg.Byte(1).Byte(1).Byte(0x11).Byte(0).file();
}

TEST(ImageSize, IsReadFromEachFormat) {
  EXPECT_EQ(SizeOf(test::RedBluePng(30, 20)), (ImageSize{ImageFormat::kPng, 30, 20}));
  EXPECT_EQ(SizeOf(test::RedBlueGif(30, 20)), (ImageSize{ImageFormat::kGif, 30, 20}));
  EXPECT_EQ(SizeOf(test::RedBlueBmp(30, 20)), (ImageSize{ImageFormat::kBmp, 30, 20}));
  for (const char* name : {"red_blue.jpg", "red_blue_progressive.jpg", "red_blue_turned.jpg"}) {
    EXPECT_EQ(SizeOf(test::KeptMediaFile(name)), (ImageSize{ImageFormat::kJpeg, 16, 8})) << name;
  }
  for (const char* name : {"red_blue.webp", "red_blue_lossless.webp", "animated.webp"}) {
    EXPECT_EQ(SizeOf(test::KeptMediaFile(name)), (ImageSize{ImageFormat::kWebp, 16, 8})) << name;
  }
}

TEST(ImageSize, OfABmpFromTheTopIsPositive) {
  Bytes file = test::RedBlueBmp(30, 20);
  const uint32_t height = ~20U + 1;
  for (unsigned i = 0; i < 4; ++i) file[22 + i] = static_cast<uint8_t>(height >> (8 * i));
  EXPECT_EQ(SizeOf(file), (ImageSize{ImageFormat::kBmp, 30, 20}));
}

TEST(ImageSize, OfAJpegIsThatOfItsFrameAndNotOfItsTables) {
  for (const uint32_t frame : {0xC0U, 0xC1U, 0xC2U, 0xC3U, 0xCFU}) {
    EXPECT_EQ(SizeOf(JpegHeader(frame, 300, 200)), (ImageSize{ImageFormat::kJpeg, 300, 200}));
  }
  for (const uint32_t other : {0xC4U, 0xC8U, 0xCCU, 0xDBU, 0xD9U, 0xDAU}) {
    EXPECT_FALSE(ReadImageSize(JpegHeader(other, 300, 200)).has_value()) << other;
  }
}

TEST(ImageSize, OfWhatIsNoImageIsAnUnknownFormat) {
  for (const std::string_view text : {"", "x", "<svg/>", "RIFF....WAVE", "\x89PN", "GIF88a"}) {
    const auto size = ReadImageSize(BytesOf(text));
    ASSERT_FALSE(size.has_value()) << text;
    EXPECT_EQ(size.error(), ImageHeaderError::kUnknownFormat) << text;
  }
}

TEST(ImageSize, OfZeroPixelsIsBroken) {
  for (const Bytes& file : {test::PngOf(0, 5, {}), test::PngOf(5, 0, {}), test::RedBlueGif(0, 5),
                            test::RedBlueBmp(5, 0), JpegHeader(0xC0, 5, 0)}) {
    const auto size = ReadImageSize(file);
    ASSERT_FALSE(size.has_value());
    EXPECT_EQ(size.error(), ImageHeaderError::kBroken);
  }
}

// Each beginning of a file gives its size or an error, and once the size is there it stays.
TEST(ImageSize, OfABeginningIsAnErrorOrThatOfTheWholeFile) {
  for (const Bytes& file :
       {test::RedBluePng(30, 20), test::RedBlueGif(30, 20), test::RedBlueBmp(30, 20),
        test::KeptMediaFile("red_blue.jpg"), test::KeptMediaFile("red_blue.webp"),
        test::KeptMediaFile("red_blue_lossless.webp")}) {
    const ImageSize whole = SizeOf(file);
    bool known = false;
    for (size_t bytes = 0; bytes <= file.size(); ++bytes) {
      // A copy of exactly this size: address checks then see each read behind its end.
      const Bytes beginning(file.begin(), file.begin() + static_cast<ptrdiff_t>(bytes));
      const auto size = ReadImageSize(beginning);
      EXPECT_TRUE(size.has_value() || !known);
      EXPECT_EQ(size.value_or(whole), whole);
      known = known || size.has_value();
    }
    EXPECT_TRUE(known);
  }
}

// A JPEG file's beginning, whose EXIF data have one entry.
Bytes ExifOf(bool big, uint32_t tag, uint32_t type, uint32_t value) {
  FileMaker tiff;
  if (big) {
    tiff.Text("MM").Big16(42).Big32(8).Big16(1).Big16(tag).Big16(type).Big32(1).Big16(value);
  } else {
    tiff.Text("II").Little16(42).Little32(8).Little16(1);
    tiff.Little16(tag).Little16(type).Little32(1).Little16(value);
  }
  tiff.Little16(0).Little32(0);
  FileMaker jpeg;
  jpeg.Big16(0xFFD8).Big16(0xFFE0).Big16(4).Big16(0).Big16(0xFFE1);
  jpeg.Big16(static_cast<uint32_t>(tiff.file().size() + 8)).Text({"Exif\0\0", 6});
  return jpeg.Append(tiff.file()).file();
}

// Returns the letters of the picture row by row after it was turned. Stored: "abc" above "def".
std::string Turned(int orientation) {
  DecodedMedium image;
  image.width = 3;
  image.height = 2;
  for (const char c : std::string("abcdef")) image.rgb.insert(image.rgb.end(), 3, c);
  EXPECT_TRUE(TurnUpright(static_cast<ExifOrientation>(orientation), &image).has_value());
  std::string letters;
  for (size_t y = 0; y < image.height; ++y) {
    if (y > 0) letters += '/';
    for (size_t x = 0; x < image.width; ++x) {
      letters += static_cast<char>(image.rgb[(y * image.width + x) * 3]);
    }
  }
  return letters;
}

void ExpectOneOfEight(ExifOrientation orientation) {
  EXPECT_GE(static_cast<int>(orientation), 1);
  EXPECT_LE(static_cast<int>(orientation), 8);
}

TEST(ExifOrientation, IsReadInBothByteOrders) {
  for (const bool big : {true, false}) {
    for (uint32_t value = 1; value <= 8; ++value) {
      EXPECT_EQ(static_cast<uint32_t>(ReadExifOrientation(ExifOf(big, 0x0112, 3, value))), value);
    }
  }
}

TEST(ExifOrientation, IsUprightWhereNoneIsTold) {
  for (const Bytes& file :
       {ExifOf(true, 0x0112, 3, 0), ExifOf(true, 0x0112, 3, 9), ExifOf(false, 0x0112, 4, 6),
        ExifOf(false, 0x0110, 3, 6), test::KeptMediaFile("red_blue.jpg"), test::RedBluePng(4, 4)}) {
    EXPECT_EQ(ReadExifOrientation(file), ExifOrientation::kTopLeft);
  }
}

TEST(ExifOrientation, OfABeginningOrWithAnyByteChangedIsOneOfEight) {
  const Bytes whole = ExifOf(true, 0x0112, 3, 6);
  for (size_t at = 0; at < whole.size(); ++at) {
    const Bytes beginning(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(at));
    ExpectOneOfEight(ReadExifOrientation(beginning));
    for (unsigned value = 0; value < 256; ++value) {
      Bytes changed = whole;
      changed[at] = static_cast<uint8_t>(value);
      ExpectOneOfEight(ReadExifOrientation(changed));
    }
  }
}

TEST(ExifOrientation, TurnsAndMirrors) {
  EXPECT_EQ(Turned(1), "abc/def");
  EXPECT_EQ(Turned(2), "cba/fed");
  EXPECT_EQ(Turned(3), "fed/cba");
  EXPECT_EQ(Turned(4), "def/abc");
  EXPECT_EQ(Turned(5), "ad/be/cf");
  EXPECT_EQ(Turned(6), "da/eb/fc");
  EXPECT_EQ(Turned(7), "fc/eb/da");
  EXPECT_EQ(Turned(8), "cf/be/ad");
}

}  // namespace
}  // namespace cairn
