#include "chat/spans/special_texts.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(SpecialTexts, FindsTheFirstAndOfThoseThatBeginTogetherTheLongest) {
  const SpecialTexts specials({"<s>", "<|a|>", "<|a|>b", "", "</s>"});
  EXPECT_EQ(specials.Find("x<s><|a|>", 0), (TextRange{1, 4}));
  EXPECT_EQ(specials.Find("x<s><|a|>", 2), (TextRange{4, 9}));
  EXPECT_EQ(specials.Find("<<|a|>b", 0), (TextRange{1, 7}));
  EXPECT_EQ(specials.Find("<|a|", 0), (TextRange{4, 4}));
  EXPECT_EQ(specials.Find("", 0), (TextRange{0, 0}));
  EXPECT_TRUE(specials.AnyIn("</s>"));
  EXPECT_FALSE(specials.AnyIn("< s>"));
}

TEST(SpecialTexts, FindsNothingWhenThereAreNone) {
  EXPECT_FALSE(SpecialTexts({}).AnyIn("anything"));
}

}  // namespace
}  // namespace cairn
