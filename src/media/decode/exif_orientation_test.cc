#include "media/decode/exif_orientation.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/media/media_files.h"

namespace cairn {
namespace {

using test::FileMaker;

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
