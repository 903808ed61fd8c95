#include "api/prompt/answer_tokens.h"

#include <gtest/gtest.h>

#include "testing/api/pair_engine.h"

namespace cairn::answer_tokens_test {
namespace {

using test::PairEngine;

PromptText Prompt(std::string text, std::vector<TextRange> literals = {}) {
  return {.text = std::move(text), .literals = std::move(literals), .shape = {}};
}

// Letter by letter, as the engine generates.
GeneratedAnswer Answer(std::string_view text, std::string_view stop_text = "") {
  static const PairEngine engine{FakeEngineOptions{}};
  return MakeGeneratedAnswer(engine, Tokens(text.begin(), text.end()), stop_text);
}

TEST(AnswerTokens, AnAnswerIsFoundWhereItsTextFollowsItsPrompt) {
  AnswerTokens answers(10'000);
  answers.Remember(1, KeyOf(Prompt("<u>hi<a>")), Answer("hello"));
  const auto found = answers.FindIn(1, Prompt("<u>hi<a>hello<u>more<a>"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].range, (TextRange{8, 13}));
  EXPECT_EQ(found[0].tokens, (Tokens{'h', 'e', 'l', 'l', 'o'}));
  EXPECT_TRUE(answers.FindIn(1, Prompt("<u>hi<a>help<u>more<a>")).empty());
  EXPECT_TRUE(answers.FindIn(1, Prompt("<u>ho<a>hello<u>more<a>")).empty());
  EXPECT_TRUE(answers.FindIn(1, Prompt("<u>hi<a>")).empty());
  EXPECT_TRUE(answers.FindIn(1, Prompt("")).empty());
}

TEST(AnswerTokens, ABlankEndOfAnAnswerMayBeMissing) {
  AnswerTokens answers(10'000);
  answers.Remember(1, KeyOf(Prompt("p")), Answer("ab \n"));
  const auto found = answers.FindIn(1, Prompt("pab<u>"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].range, (TextRange{1, 3}));
  EXPECT_EQ(found[0].tokens, (Tokens{'a', 'b'}));
}

TEST(AnswerTokens, WhatAStopTextCutOffIsNoPartOfTheAnswer) {
  EXPECT_EQ(Answer("abSTOPc", "STOP").text, "ab");
  EXPECT_EQ(Answer("abSTOPc", "STOP").tokens, (Tokens{'a', 'b'}));
  EXPECT_EQ(Answer("STOP", "STOP").text, "");
  EXPECT_EQ(Answer("ab").ends, (std::vector<size_t>{1, 2}));
}

TEST(AnswerTokens, EveryAnswerOfAConversationIsFound) {
  AnswerTokens answers(10'000);
  std::string text = "<u>";
  for (const char* answer : {"one", "two", "three"}) {
    answers.Remember(1, KeyOf(Prompt(text)), Answer(answer));
    text += std::string(answer) + std::string(300, 'q') + "<u>";
  }
  const auto found = answers.FindIn(1, Prompt(text));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(text.substr(found[2].range.begin, 5), "three");
}

TEST(AnswerTokens, OfSeveralAnswersToOnePromptTheOneThatFollowsIsTaken) {
  AnswerTokens answers(10'000);
  for (const char* answer : {"on", "one", "two"}) {
    answers.Remember(1, KeyOf(Prompt("p")), Answer(answer));
  }
  EXPECT_EQ(answers.FindIn(1, Prompt("ptwo<u>")).at(0).range, (TextRange{1, 4}));
  EXPECT_EQ(answers.FindIn(1, Prompt("pone<u>")).at(0).range, (TextRange{1, 4}));
  EXPECT_EQ(answers.FindIn(1, Prompt("pon<u>")).at(0).range, (TextRange{1, 3}));
}

TEST(AnswerTokens, NothingIsFoundInsideAnAnswer) {
  AnswerTokens answers(10'000);
  answers.Remember(1, KeyOf(Prompt("p")), Answer("abc"));
  answers.Remember(1, KeyOf(Prompt("pa")), Answer("bcd"));
  const auto found = answers.FindIn(1, Prompt("pabcd"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].range, (TextRange{1, 4}));
}

TEST(AnswerTokens, NamespacesShareNothing) {
  AnswerTokens answers(10'000);
  answers.Remember(1, KeyOf(Prompt("p")), Answer("abc"));
  EXPECT_TRUE(answers.FindIn(0, Prompt("pabc")).empty());
  EXPECT_TRUE(answers.FindIn(2, Prompt("pabc")).empty());
  EXPECT_EQ(answers.FindIn(1, Prompt("pabc")).size(), 1u);
}

TEST(AnswerTokens, APromptThatAClientOnlySpelledIsAnotherPrompt) {
  AnswerTokens answers(10'000);
  answers.Remember(1, KeyOf(Prompt("<s>p")), Answer("abc"));
  EXPECT_TRUE(answers.FindIn(1, Prompt("<s>pabc", {{0, 3}})).empty());
  EXPECT_EQ(answers.FindIn(1, Prompt("<s>pabc</s>", {{7, 11}})).size(), 1u);
}

TEST(AnswerTokens, HoldsNoMoreBytesThanItMayAndForgetsTheOldest) {
  AnswerTokens answers(5'000);
  for (int i = 0; i < 200; ++i) {
    answers.Remember(1, KeyOf(Prompt("p" + std::to_string(i))), Answer("answer"));
    // What comes back stays young.
    EXPECT_EQ(answers.FindIn(1, Prompt("p0answer<u>")).size(), 1u) << i;
    EXPECT_LE(answers.bytes(), 5'000u);
  }
  EXPECT_TRUE(answers.FindIn(1, Prompt("p1answer<u>")).empty());
  EXPECT_EQ(answers.FindIn(1, Prompt("p199answer<u>")).size(), 1u);
  const size_t before = answers.bytes();
  answers.Remember(1, KeyOf(Prompt("p199")), Answer("answer"));
  EXPECT_EQ(answers.bytes(), before);
  answers.Remember(1, KeyOf(Prompt("long")), Answer(std::string(5'000, 'a')));
  EXPECT_EQ(answers.bytes(), before);
}

}  // namespace
}  // namespace cairn::answer_tokens_test
