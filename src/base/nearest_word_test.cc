#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

TEST(NearestWord, CountsAMissingAWrongAndASwappedLetterAsOneEditEach) {
  EXPECT_EQ(EditsBetween("serve", "serve"), 0u);
  EXPECT_EQ(EditsBetween("serv", "serve"), 1u);
  EXPECT_EQ(EditsBetween("serbe", "serve"), 1u);
  EXPECT_EQ(EditsBetween("sevre", "serve"), 1u);
  EXPECT_EQ(EditsBetween("", "serve"), 5u);
  EXPECT_EQ(EditsBetween("kitten", "sitting"), 3u);
}

TEST(NearestWord, IsTheOneWithTheFewestEdits) {
  const std::vector<std::string> known = {"--ctx-checkpoints", "--ctx-size", "--port",
                                          "--parallel"};
  EXPECT_EQ(NearestWord("--ctx-szie", known), "--ctx-size");
  EXPECT_EQ(NearestWord("--prot", known), "--port");
  EXPECT_EQ(NearestWord("--parralel", known), "--parallel");
  EXPECT_EQ(DidYouMean("--pord", known), "; did you mean --port?");
}

TEST(NearestWord, IsNoneWhereNothingIsNear) {
  const std::vector<std::string> known = {"serve", "top", "cache", "a"};
  EXPECT_EQ(NearestWord("download", known), "");
  EXPECT_EQ(NearestWord("b", known), "");
  EXPECT_EQ(NearestWord("", known), "");
  EXPECT_EQ(NearestWord("serve", {}), "");
  EXPECT_EQ(DidYouMean("download", known), "");
  EXPECT_EQ(DidYouMean(""), "");
  EXPECT_EQ(DidYouMean("cairn serve"), "; did you mean cairn serve?");
}

TEST(NearestWord, IsNotLookedForFromATextOfAnyLength) {
  const std::string long_text(size_t{1} << 24, 's');
  EXPECT_EQ(NearestWord(long_text, std::vector<std::string>{"serve", long_text}), "");
}

}  // namespace
}  // namespace cairn
