#include "media/medium.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn {
namespace {

std::shared_ptr<const Medium> Image(std::string_view file) {
  return MakeMedium(MediumKind::kImage, Bytes(file.begin(), file.end()), "messages[0].content[0]");
}

TEST(Medium, IsTheSameIfKindAndFileAre) {
  EXPECT_EQ(Image("a")->content, Image("a")->content);
  EXPECT_NE(MarkerOf(*Image("a")), MarkerOf(*Image("b")));
  const Bytes file = Image("a")->file;
  EXPECT_NE(MakeMedium(MediumKind::kAudio, file, "")->content, Image("a")->content);
}

TEST(Medium, IsKeptOnceInAConversation) {
  Media media;
  AddMedium(Image("a"), &media);
  AddMedium(Image("b"), &media);
  AddMedium(Image("a"), &media);
  EXPECT_EQ(media.size(), 2U);
}

TEST(Medium, IsFoundByItsMarkerInEveryPlace) {
  const Media media = {Image("a"), Image("b")};
  const std::string a = MarkerOf(*media[0]);
  const std::string b = MarkerOf(*media[1]);
  const std::string text = "x" + b + a + "y" + a;
  const auto found = FindMarkers(text, media);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].medium, media[1]);
  EXPECT_EQ(found[1].medium, media[0]);
  EXPECT_EQ(found[2].medium, media[0]);
  EXPECT_EQ(text.substr(found[1].begin, found[1].end - found[1].begin), a);
}

TEST(Medium, OfAnotherConversationLeavesItsMarkerAsText) {
  EXPECT_TRUE(FindMarkers(MarkerOf(*Image("a")), {Image("b")}).empty());
  EXPECT_TRUE(FindMarkers("<__media__", {Image("b")}).empty());
}

TEST(Medium, IsTheNextOneOfItsListWhereItsMarkerWas) {
  const Media media = {Image("a"), Image("b")};
  const std::string a = MarkerOf(*media[0]);
  const std::string b = MarkerOf(*media[1]);
  EXPECT_EQ(WithNextMediumMarkers("x" + b + a + "y" + a, media),
            "x<__media__><__media__>y<__media__>");
  EXPECT_EQ(WithNextMediumMarkers("x" + b, {media[0]}), "x" + b);
  EXPECT_EQ(WithNextMediumMarkers("", media), "");
  EXPECT_TRUE(FindMarkers(kNextMediumMarker, media).empty());
}

}  // namespace
}  // namespace cairn
