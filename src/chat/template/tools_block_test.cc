#include "chat/template/tools_block.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::tools_block_test {
namespace {

std::string Shown(const ToolRenderings& renderings) {
  const auto block = ToolsInFront(renderings);
  if (!block) return std::string(renderings.with_tools);
  std::string text(renderings.bare);
  return text.insert(block->begin, renderings.first_with_tools, block->begin,
                     block->end - block->begin);
}

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
  EXPECT_EQ(Shown(moved), "<s>[T]x[/T][I]u1[/I]a1[I]u2[/I]");
}

TEST(ToolsBlock, StaysWhereTheTemplateShowsItOnlyForTheLastQuestion) {
  const ToolRenderings gone = {.with_tools = "<s>[I]u1[/I]call",
                               .bare = "<s>[I]u1[/I]call",
                               .first_with_tools = "<s>[T]x[/T][I]u1[/I]",
                               .first_bare = "<s>[I]u1[/I]"};
  EXPECT_EQ(Shown(gone), "<s>[T]x[/T][I]u1[/I]call");
}

TEST(ToolsBlock, IsLeftAloneWhereItCannotBeTakenOut) {
  ToolRenderings odd = {.with_tools = "<s>[I]u1[/I]a1[T]x2[/T][I]u2[/I]",
                        .bare = "<s>[I]u1[/I]a1[I]u2[/I]",
                        .first_with_tools = "<s>[T]x[/T][I]u1[/I]",
                        .first_bare = "<s>[I]u1[/I]"};
  EXPECT_EQ(Shown(odd), odd.with_tools);
  odd.first_with_tools = odd.first_bare;
  EXPECT_EQ(Shown(odd), odd.with_tools);
}

// Texts "abcd" of a template and a source, with a run for "ab" and "cd".
RenderedText TwoRuns(const std::string& text) {
  return {.text = text, .runs = {{0, 10, 0, false}, {2, 20, 1, false}}, .sources = {{}, {}}};
}

TEST(ToolsBlock, IsInsertedWithItsOrigins) {
  const RenderedText from = TwoRuns("ABCD");
  RenderedText into = TwoRuns("abcd");
  into.asked_at = 4;
  InsertText(from, {1, 3}, 3, &into);
  EXPECT_EQ(into.text, "abcBCd");
  const std::vector<jinja::Run> runs = {{0, 10, 0, false},
                                        {2, 20, 1, false},
                                        {3, 11, 0, false},
                                        {4, 20, 2, false},
                                        {5, 21, 1, false}};
  EXPECT_EQ(into.runs, runs);
  EXPECT_EQ(into.sources.size(), 3U);
  EXPECT_EQ(into.asked_at, 6U);
}

}  // namespace
}  // namespace cairn::tools_block_test
