#include "chat/parse/reasoning.h"

#include <gtest/gtest.h>

#include <random>

namespace cairn::reasoning_test {
namespace {

struct Parts {
  std::string reasoning;
  std::string content;
  bool operator==(const Parts&) const = default;
};

void Collect(const std::vector<ReasoningSplitter::Piece>& pieces, Parts* parts) {
  for (const auto& piece : pieces) {
    EXPECT_FALSE(piece.text.empty());
    (piece.reasoning ? parts->reasoning : parts->content) += piece.text;
  }
}

Parts Split(const std::vector<std::string>& pushes, bool starts_inside,
            const ReasoningTags& tags = {}) {
  ReasoningSplitter splitter(tags, starts_inside);
  Parts parts;
  for (const std::string& push : pushes) Collect(splitter.Push(push), &parts);
  Collect(splitter.Finish(), &parts);
  return parts;
}

Parts Split(const std::string& text, bool starts_inside = false) {
  return Split(std::vector<std::string>{text}, starts_inside);
}

void PrintTo(const Parts& parts, std::ostream* out) {
  *out << "{" << parts.reasoning << "|" << parts.content << "}";
}

TEST(Reasoning, SplitsThoughtFromAnswerAndDropsTheBlankLinesBetween) {
  EXPECT_EQ(Split("<think>\nLet me see.\n</think>\n\nForty-two.\n"),
            (Parts{"Let me see.", "Forty-two.\n"}));
  EXPECT_EQ(Split("\n<think>a\n\nb </think>  indented"), (Parts{"a\n\nb", "  indented"}));
  EXPECT_EQ(Split("<think>\n\n</think>\n\n    code"), (Parts{"", "    code"}));
}

TEST(Reasoning, StartsInsideWhenThePromptOpenedTheTag) {
  EXPECT_EQ(Split("\nhm\n</think>\n\nyes", true), (Parts{"hm", "yes"}));
  EXPECT_EQ(Split("</think>yes", true), (Parts{"", "yes"}));
  EXPECT_EQ(Split("<think>\nhm</think>yes", true), (Parts{"hm", "yes"}));
}

TEST(Reasoning, LeavesAnswersWithoutReasoningAsTheyAre) {
  EXPECT_EQ(Split(" \n plain\n "), (Parts{"", " \n plain\n "}));
  EXPECT_EQ(Split(" \n "), (Parts{"", " \n "}));
  EXPECT_EQ(Split(""), (Parts{"", ""}));
}

TEST(Reasoning, TakesATagInTheMiddleOfAnAnswerAsText) {
  EXPECT_EQ(Split("The tag <think> opens, </think> closes."),
            (Parts{"", "The tag <think> opens, </think> closes."}));
  EXPECT_EQ(Split("<think>a</think>b<think>c</think>d"), (Parts{"a", "b<think>c</think>d"}));
}

TEST(Reasoning, GivesBackWhatLookedLikeATagWhenTheAnswerEnds) {
  EXPECT_EQ(Split("<thin"), (Parts{"", "<thin"}));
  EXPECT_EQ(Split("<think>so\n</thin"), (Parts{"so\n</thin", ""}));
  EXPECT_EQ(Split("<think>cut off \n"), (Parts{"cut off", ""}));
}

TEST(Reasoning, HoldsBackOnlyWhatMayBeATag) {
  ReasoningSplitter splitter(ReasoningTags(), false);
  EXPECT_TRUE(splitter.Push("<thi").empty());
  EXPECT_TRUE(splitter.Push("nk>\n").empty());
  Parts parts;
  Collect(splitter.Push("one < two <"), &parts);
  EXPECT_EQ(parts, (Parts{"one < two", ""}));
  Collect(splitter.Push("/b>"), &parts);
  EXPECT_EQ(parts, (Parts{"one < two </b>", ""}));
  Collect(splitter.Push("</think>\n\nA<"), &parts);
  EXPECT_EQ(parts, (Parts{"one < two </b>", "A<"}));
}

TEST(Reasoning, GivesTheSameForEverySplitOfATextIntoPushes) {
  const std::vector<std::string> atoms = {"<think>", "</think>", "\n",    " ",
                                          "x",       "<",        "</thi", "\n\n"};
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (size_t n = random() % 10; n > 0; --n) text += atoms[random() % atoms.size()];
    std::vector<std::string> pushes(1);
    for (const char c : text) {
      pushes.back() += c;
      if (random() % 3 == 0) pushes.emplace_back();
    }
    for (const bool inside : {false, true}) {
      ASSERT_EQ(Split(pushes, inside), Split(text, inside)) << text;
    }
  }
}

// A model may write white space without end, a token at a time.
TEST(Reasoning, LooksAtLongWhiteSpaceOnce) {
  constexpr size_t kBytes = 20'000;
  for (const char* before : {"", "<think>", "<think>hm", "<think>hm</think>"}) {
    for (const char* space : {" ", "\n"}) {
      SCOPED_TRACE(std::string(before) + space);
      ReasoningSplitter splitter(ReasoningTags(), false);
      Parts parts;
      Collect(splitter.Push(before), &parts);
      for (size_t i = 0; i < kBytes; ++i) Collect(splitter.Push(space), &parts);
      Collect(splitter.Push("x"), &parts);
      Collect(splitter.Finish(), &parts);
      EXPECT_LE(splitter.looked_at_bytes(), 20 * kBytes);
      EXPECT_NE((parts.reasoning + parts.content).find('x'), std::string::npos);
    }
  }
}

TEST(Reasoning, FindsATagThatBeginsInTheWhiteSpaceBeforeIt) {
  const ReasoningTags tags{"<a>", "\n\nb", true};
  EXPECT_EQ(Split({"<a>x", " ", "\n", "\n", "\n", "b", "y"}, false, tags), (Parts{"x", "y"}));
}

TEST(Reasoning, TakesTheTagsOfTheTemplate) {
  const ReasoningTags thought{"<|channel>thought", "<channel|>", true};
  EXPECT_EQ(Split({"<|channel>thought\nhm </think>\n<chan", "nel|>yes"}, false, thought),
            (Parts{"hm </think>", "yes"}));
  EXPECT_EQ(Split({"<think>hm</think>yes"}, false, thought), (Parts{"", "<think>hm</think>yes"}));
  const ReasoningTags brackets{"[THINK]", "[/THINK]", true};
  EXPECT_EQ(Split({"[THI", "NK]a[b[/THIN[/THINK]c"}, false, brackets), (Parts{"a[b[/THIN", "c"}));
  EXPECT_TRUE(OpensReasoning(brackets, "[/INST][THINK]\n"));
  EXPECT_FALSE(OpensReasoning(thought, "<|turn>model\n<|channel>thought\n<channel|>"));
  EXPECT_EQ(FindReasoning(brackets, "a[THINK]b[/THINK]c"), (std::vector<TextRange>{{1, 17}}));
}

TEST(Reasoning, KnowsWhichGenerationPromptsOpenIt) {
  EXPECT_TRUE(OpensReasoning(ReasoningTags(), "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(OpensReasoning(ReasoningTags(), "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(OpensReasoning(ReasoningTags(), "<|im_start|>assistant\n"));
}

TEST(FindReasoning, FindsWhatIsOpenedAndClosed) {
  EXPECT_EQ(FindReasoning(ReasoningTags(), "a<think>b</think>c"),
            (std::vector<TextRange>{{1, 17}}));
  EXPECT_EQ(FindReasoning(ReasoningTags(), "<think></think><think>x</think>"),
            (std::vector<TextRange>{{0, 15}, {15, 31}}));
}

TEST(FindReasoning, ATagWithoutItsPartnerIsText) {
  EXPECT_TRUE(FindReasoning(ReasoningTags(), "a<think>b").empty());
  EXPECT_TRUE(FindReasoning(ReasoningTags(), "a</think>b").empty());
  EXPECT_EQ(FindReasoning(ReasoningTags(), "<think>a<think>b</think></think>"),
            (std::vector<TextRange>{{8, 24}}));
}

}  // namespace
}  // namespace cairn::reasoning_test
