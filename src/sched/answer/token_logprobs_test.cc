#include "sched/answer/token_logprobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sched/answer/stop_text.h"
#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

std::vector<float> SomeLogits(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, 4);
  std::vector<float> logits(FakeEngine::kVocabSize);
  for (float& logit : logits) logit = draw(random);
  return logits;
}

// Computed as in the definition.
std::vector<double> NaiveLogSoftmax(const std::vector<float>& logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  std::vector<double> logprobs;
  for (const float logit : logits) {
    logprobs.push_back(std::log(std::exp(static_cast<double>(logit)) / sum));
  }
  return logprobs;
}

TEST(TokenLogprobs, AreTheLogarithmsOfTheSoftmax) {
  const FakeEngine engine({});
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<float> logits = SomeLogits(seed);
    const std::vector<double> naive = NaiveLogSoftmax(logits);
    const TokenLogprob found = FindLogprobs(engine, logits, 'q', 20);
    EXPECT_NEAR(found.sampled.logprob, naive['q'], 1e-9);
    EXPECT_EQ(found.sampled.bytes, "q");
    std::vector<double> sorted = naive;
    std::sort(sorted.rbegin(), sorted.rend());
    ASSERT_EQ(found.top.size(), 20u);
    for (size_t i = 0; i < found.top.size(); ++i) {
      EXPECT_NEAR(found.top[i].logprob, sorted[i], 1e-9);
      EXPECT_NEAR(naive[static_cast<size_t>(found.top[i].token)], sorted[i], 1e-9);
    }
  }
}

TEST(TokenLogprobs, LargeLogitsOverflowNothing) {
  const FakeEngine engine({});
  std::vector<float> logits(FakeEngine::kVocabSize, -1e30F);
  logits['a'] = 1e30F;
  EXPECT_EQ(FindLogprobs(engine, logits, 'a', 1).sampled.logprob, 0);
  EXPECT_LT(FindLogprobs(engine, logits, 'b', 1).sampled.logprob, -1e29);
}

TEST(TokenLogprobs, OfEqualsTheLowerIdComesFirstAndNoMoreComeThanThereAre) {
  const FakeEngine engine({});
  const std::vector<float> logits(FakeEngine::kVocabSize, 1.0F);
  const TokenLogprob found = FindLogprobs(engine, logits, 0, 1000);
  ASSERT_EQ(found.top.size(), FakeEngine::kVocabSize);
  for (size_t i = 0; i < found.top.size(); ++i) {
    EXPECT_EQ(found.top[i].token, static_cast<Token>(i));
  }
  EXPECT_TRUE(FindLogprobs(engine, logits, 0, 0).top.empty());
  EXPECT_EQ(found.top[FakeEngine::kMessageEnd].bytes, "<|im_end|>");
}

TEST(SampledLogprobs, AreThoseOfTheCandidates) {
  const FakeEngine engine({});
  const std::vector<Sampler::Candidate> candidates = {{'a', 0.5F}, {'b', 0.3F}, {'c', 0.2F}};
  const TokenLogprob found = FindSampledLogprobs(engine, candidates, 'c', 2);
  EXPECT_NEAR(std::exp(found.sampled.logprob), 0.2, 1e-6);
  ASSERT_EQ(found.top.size(), 2u);
  EXPECT_EQ(found.top[0].token, 'a');
  EXPECT_EQ(found.top[0].bytes, "a");
  EXPECT_NEAR(std::exp(found.top[1].logprob), 0.3, 1e-6);
  // A token that was forced.
  EXPECT_EQ(FindSampledLogprobs(engine, candidates, 'z', 0).sampled.logprob, 0);
}

// The letters of the tokens returned with each text, when texts are pushed one after the other.
std::vector<std::string> TakenWith(const std::vector<std::string>& texts, const std::string& stop) {
  StopText text({stop});
  HeldTokens held;
  std::vector<std::string> taken;
  Token letter = 'A';
  for (const std::string& pushed : texts) {
    TokenLogprob logprob;
    logprob.sampled.token = letter++;
    held.Add(logprob.sampled.token, logprob, pushed.size());
    text.Push(pushed);
    taken.emplace_back();
    for (const TokenLogprob& one : held.Take(text.unsent_bytes()).logprobs) {
      taken.back() += static_cast<char>(one.sampled.token);
    }
  }
  text.Finish();
  taken.emplace_back();
  for (const TokenLogprob& one : held.Take(text.unsent_bytes()).logprobs) {
    taken.back() += static_cast<char>(one.sampled.token);
  }
  return taken;
}

using Strings = std::vector<std::string>;

TEST(HeldTokens, GoWithTheTextTheyAreOf) {
  EXPECT_EQ(TakenWith({"a", "b", "c"}, ""), (Strings{"A", "B", "C", ""}));
  // A character in three tokens.
  EXPECT_EQ(TakenWith({"\xe2", "\x82", "\xac", "x"}, ""), (Strings{"", "", "ABC", "D", ""}));
  // Text that might have been a stop text.
  EXPECT_EQ(TakenWith({"go S", "TO", "W"}, "STOP"), (Strings{"A", "", "BC", ""}));
  // A possible stop text that is cut off by the end.
  EXPECT_EQ(TakenWith({"go", "ST"}, "STOP"), (Strings{"A", "", "B"}));
  // A token without text is not held back.
  EXPECT_EQ(TakenWith({"a", "", "b"}, ""), (Strings{"A", "B", "C", ""}));
}

TEST(HeldTokens, WhatAStopTextCutsOffIsNotTold) {
  EXPECT_EQ(TakenWith({"go", "ST", "OP"}, "STOP"), (Strings{"A", "", "", ""}));
  EXPECT_EQ(TakenWith({"go", "xST", "OP"}, "STOP"), (Strings{"A", "B", "", ""}));
}

TEST(HeldTokens, AreTakenWithoutLogprobsTooAndTheRestAtTheEnd) {
  HeldTokens held;
  EXPECT_TRUE(held.without_logprobs());
  held.Add(7, std::nullopt, 2);
  held.Add(8, std::nullopt, 3);
  held.Add(9, std::nullopt, 0);
  EXPECT_TRUE(held.without_logprobs());
  const HeldTokens::Taken taken = held.Take(3);
  EXPECT_EQ(taken.tokens, (Tokens{7}));
  EXPECT_TRUE(taken.logprobs.empty());
  EXPECT_EQ(held.TakeAll(), (Tokens{8, 9}));
  EXPECT_TRUE(held.TakeAll().empty());
}

}  // namespace
}  // namespace cairn
