#include "media/medium.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn::medium_test {
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

TEST(Medium, HasAPlaceWhereItsMarkerWasAppended) {
  const MediumPtr a = Image("a");
  const MediumPtr b = Image("b");
  std::string text = MarkerOf(*a);  // only a text
  MarkedMedia media;
  AppendMarker(b, &text, &media);
  text += "y";
  AppendMarker(a, &text, &media);
  EXPECT_EQ(text, MarkerOf(*a) + MarkerOf(*b) + "y" + MarkerOf(*a));
  ASSERT_EQ(media.size(), 2U);
  EXPECT_EQ(media[0].medium, b);
  EXPECT_EQ(media[0].begin, MarkerOf(*a).size());
  EXPECT_EQ(text.substr(media[1].begin, media[1].end - media[1].begin), MarkerOf(*a));
  EXPECT_EQ(MarkerBytes(media), MarkerOf(*a).size() + MarkerOf(*b).size());
}

TEST(Medium, IsTheNextOneOfItsListWhereItsPlaceWas) {
  const MediumPtr a = Image("a");
  std::string text = "x";
  MarkedMedia media;
  AppendMarker(Image("b"), &text, &media);
  AppendMarker(a, &text, &media);
  text += "y" + MarkerOf(*a);
  EXPECT_EQ(WithNextMediumMarkers(text, media), "x<__media__><__media__>y" + MarkerOf(*a));
  EXPECT_EQ(WithNextMediumMarkers("", {}), "");
}

}  // namespace
}  // namespace cairn::medium_test
