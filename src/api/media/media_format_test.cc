#include "api/media/media_format.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::media_format_test {
namespace {

std::string FormatOf(std::string_view file) {
  const auto format = FindMediaFormat(BytesOf(file));
  if (!format) return "none";
  return std::string(format->name) + ", " + std::string(MediumKindName(format->kind));
}

std::string Bmp(char header_bytes) {
  return "BM" + std::string(12, 'x') + header_bytes + std::string(3, '\0');
}

TEST(MediaFormat, IsToldByTheFirstBytes) {
  EXPECT_EQ(FormatOf("\x89PNG\r\n\x1A\n…"), "PNG, image");
  EXPECT_EQ(FormatOf("\xFF\xD8\xFF\xE0"), "JPEG, image");
  EXPECT_EQ(FormatOf("GIF87a"), "GIF, image");
  EXPECT_EQ(FormatOf("GIF89a"), "GIF, image");
  EXPECT_EQ(FormatOf("RIFF1234WEBPVP8 "), "WEBP, image");
  EXPECT_EQ(FormatOf(Bmp(40)), "BMP, image");
  EXPECT_EQ(FormatOf(Bmp(124)), "BMP, image");
  EXPECT_EQ(FormatOf("RIFF1234WAVEfmt "), "WAV, audio");
  EXPECT_EQ(FormatOf("fLaC"), "FLAC, audio");
  EXPECT_EQ(FormatOf("ID3\x04"), "MP3, audio");
  EXPECT_EQ(FormatOf("\xFF\xFB\x90\x64"), "MP3, audio");
  EXPECT_EQ(FormatOf("\xFF\xF3\x40\xC4"), "MP3, audio");
}

TEST(MediaFormat, OtherFilesHaveNone) {
  for (const char* file :
       {"", "x", "\x89PN", "\xFF\xD8", "GIF88a", "RIFF1234AVI ", "RIFF1234WAV", "%PDF-1.7",
        "<svg xmlns=", "BM, a text that begins like a bitmap", "OggS", "\xFF\xFB\x90", "fLa"}) {
    EXPECT_EQ(FormatOf(file), "none") << file;
  }
  EXPECT_EQ(FormatOf(Bmp(41)), "none");
  EXPECT_EQ(FormatOf("\xFF\xF1\x50\x80"), "none") << "AAC has another layer";
  EXPECT_EQ(FormatOf("\xFF\xFB\xF0\x64"), "none") << "no bitrate";
  EXPECT_EQ(FormatOf("\xFF\xFB\x9C\x64"), "none") << "no sample rate";
  EXPECT_EQ(FormatOf("\xFF\xEB\x90\x64"), "none") << "no version";
}

}  // namespace
}  // namespace cairn::media_format_test
