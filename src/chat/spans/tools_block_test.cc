#include "chat/spans/tools_block.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(ToolsBlock, AnInsertionIsOneTextAtOnePlace) {
  const auto found = FindInsertion("<s>[INST] a", "<s>[T] x [/T][INST] a");
  ASSERT_TRUE(found.has_value());
  std::string text = "<s>[INST] a";
  EXPECT_EQ(text.insert(found->at, found->text), "<s>[T] x [/T][INST] a");
  EXPECT_FALSE(FindInsertion("abc", "abc").has_value());
  EXPECT_FALSE(FindInsertion("abc", "ab").has_value());
  EXPECT_FALSE(FindInsertion("abcd", "xabycd").has_value());
  EXPECT_EQ(FindInsertion("", "x")->text, "x");
}

TEST(ToolsBlock, StaysWhereTheFirstQuestionHadIt) {
  const ToolRenderings moved = {.with_tools = "<s>[I]u1[/I]a1[T]x[/T][I]u2[/I]",
                                .bare = "<s>[I]u1[/I]a1[I]u2[/I]",
                                .first_with_tools = "<s>[T]x[/T][I]u1[/I]",
                                .first_bare = "<s>[I]u1[/I]"};
  EXPECT_EQ(WithToolsInFront(moved), "<s>[T]x[/T][I]u1[/I]a1[I]u2[/I]");
}

TEST(ToolsBlock, StaysWhereTheTemplateShowsItOnlyForTheLastQuestion) {
  const ToolRenderings gone = {.with_tools = "<s>[I]u1[/I]call",
                               .bare = "<s>[I]u1[/I]call",
                               .first_with_tools = "<s>[T]x[/T][I]u1[/I]",
                               .first_bare = "<s>[I]u1[/I]"};
  EXPECT_EQ(WithToolsInFront(gone), "<s>[T]x[/T][I]u1[/I]call");
}

TEST(ToolsBlock, IsLeftAloneWhereItCannotBeTakenOut) {
  ToolRenderings odd = {.with_tools = "<s>[I]u1[/I]a1[T]x2[/T][I]u2[/I]",
                        .bare = "<s>[I]u1[/I]a1[I]u2[/I]",
                        .first_with_tools = "<s>[T]x[/T][I]u1[/I]",
                        .first_bare = "<s>[I]u1[/I]"};
  EXPECT_EQ(WithToolsInFront(odd), odd.with_tools);
  odd.first_with_tools = odd.first_bare;
  EXPECT_EQ(WithToolsInFront(odd), odd.with_tools);
}

}  // namespace
}  // namespace cairn
