#include "cmd/serve/media/served_media.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "testing/cmd/parsed_flags.h"

namespace cairn {
namespace {

using test::ParsedFlags;

TEST(MediaFlags, RequestsAreTextOnlyWithoutAProjector) {
  const MediaRules none = MediaRulesOf(ParsedFlags("").media);
  EXPECT_FALSE(none.takes_images);
  EXPECT_FALSE(none.takes_audio);
  EXPECT_TRUE(MediaRulesOf(ParsedFlags("--mmproj p.gguf").media).takes_images);
}

TEST(MediaFlags, NeitherUrlsNorFilesAreReadUnlessAFlagSaysSo) {
  const MediaRules closed = MediaRulesOf(ParsedFlags("--mmproj p.gguf").media);
  EXPECT_FALSE(closed.allow_url);
  EXPECT_FALSE(closed.fetch);
  EXPECT_EQ(closed.media_path, "");
  const std::string folder = testing::TempDir();
  const MediaRules open =
      MediaRulesOf(ParsedFlags("--allow-media-url --media-path " + folder).media);
  EXPECT_TRUE(open.allow_url);
  EXPECT_TRUE(open.fetch);
  EXPECT_EQ(open.media_path, folder);
  EXPECT_THROW(ParsedFlags("--media-path /no/such/folder"), CLI::ValidationError);
}

TEST(MediaFlags, LimitsAreThoseOfTheFlags) {
  const MediaRules usual = MediaRulesOf(ParsedFlags("").media);
  EXPECT_EQ(usual.file_bytes_max, size_t{32} << 20U);
  EXPECT_EQ(usual.media_max, 64u);
  const MediaRules large = MediaRulesOf(ParsedFlags("--media-file-mib 500 --media-max 3").media);
  EXPECT_EQ(large.file_bytes_max, size_t{500} << 20U);
  EXPECT_EQ(large.media_max, 3u);
  EXPECT_GE(large.all_bytes_max, large.file_bytes_max) << "one file of the allowed size must fit";
  EXPECT_THROW(ParsedFlags("--media-max 0"), CLI::ValidationError);
}

TEST(MediaFlags, TheProjectorsSettingsAreKept) {
  const MediaOptions usual = ParsedFlags("").media;
  EXPECT_TRUE(usual.mmproj_offload);
  EXPECT_LT(usual.image_tokens_min, 0);
  EXPECT_LT(usual.image_tokens_max, 0);
  const MediaOptions set =
      ParsedFlags(
          "--mmproj p.gguf --no-mmproj-offload --image-min-tokens 64 --image-max-tokens 1024")
          .media;
  EXPECT_EQ(set.mmproj_path, "p.gguf");
  EXPECT_FALSE(set.mmproj_offload);
  EXPECT_EQ(set.image_tokens_min, 64);
  EXPECT_EQ(set.image_tokens_max, 1024);
  EXPECT_TRUE(CheckMediaFlags(set).has_value());
}

TEST(MediaFlags, AMinimumAboveTheMaximumIsRefused) {
  const Status checked =
      CheckMediaFlags(ParsedFlags("--image-min-tokens 100 --image-max-tokens 99").media);
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(checked.error().message.find("--image-min-tokens 100 is more than"), std::string::npos);
  EXPECT_TRUE(CheckMediaFlags(ParsedFlags("--image-min-tokens 100").media).has_value());
}

}  // namespace
}  // namespace cairn
