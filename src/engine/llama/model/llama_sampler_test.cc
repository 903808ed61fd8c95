#include "engine/llama/model/llama_sampler.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <limits>
#include <map>

#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

using Order = std::vector<SamplingStep>;

class LlamaSamplerTest : public ::testing::Test {
 protected:
  LlamaSamplerTest() : engine_(test::Loaded(test::kMade[0])) {
    const Tokens prompt = test::RandomPrompt(40, 1);
    logits_ = test::Read(engine_.get(), prompt, 0, prompt.size());
  }
  // Samples tokens one after the other from the same logits.
  Tokens Sample(const SamplingParams& params, size_t tokens) {
    const auto sampler = engine_->MakeSampler(params);
    Tokens sampled;
    for (size_t i = 0; i < tokens; ++i) sampled.push_back(sampler->Sample(logits_));
    return sampled;
  }

  std::unique_ptr<LlamaEngine> engine_;
  std::vector<float> logits_;
};

TEST_F(LlamaSamplerTest, InfillDrawsATokenOfTheVocabularyWhateverStandsBeforeIt) {
  for (const Order& order :
       {Order{SamplingStep::kTopK, SamplingStep::kTopP, SamplingStep::kInfill},
        Order{SamplingStep::kInfill}, Order{SamplingStep::kInfill, SamplingStep::kTemperature}}) {
    SamplingParams params;
    params.seed = 7;
    params.order = order;
    const Tokens sampled = Sample(params, 20);
    EXPECT_EQ(sampled, Sample(params, 20));
    for (const Token token : sampled) {
      EXPECT_GE(token, 0);
      EXPECT_LT(static_cast<size_t>(token), engine_->info().vocab_size);
    }
  }
}

TEST_F(LlamaSamplerTest, ABiasDecidesWithAndWithoutAGrammar) {
  SamplingParams greedy;
  greedy.temperature = 0;
  const Token likeliest = Sample(greedy, 1).front();
  Token other = 0;
  while (other == likeliest || engine_->Piece(other, false) != "a") ++other;
  for (const bool with_grammar : {false, true}) {
    SamplingParams params;
    params.temperature = 0;
    params.logit_bias = {{other, 500.0F}, {other, 500.0F}, {-1, 1e6F}, {1 << 30, 1e6F}};
    // The grammar rejects the first sample, so that the candidates are filtered.
    if (with_grammar) params.logit_bias.emplace_back(likeliest, 2000.0F);
    if (with_grammar) params.grammar = *Grammar::Parse("root ::= \"a\"");
    EXPECT_EQ(Sample(params, 1).front(), other) << with_grammar;
  }
  SamplingParams banned;
  banned.temperature = 0;
  banned.logit_bias = {{likeliest, -std::numeric_limits<float>::infinity()}};
  EXPECT_NE(Sample(banned, 1).front(), likeliest);
}

// The grammar's odd form is "a", and the model prefers it to "b".
TEST_F(LlamaSamplerTest, AnOddFormIsSampledButDoesNotReplaceARefusedToken) {
  std::map<std::string, Token> tokens;
  for (Token token = 0; token < static_cast<Token>(engine_->info().vocab_size); ++token) {
    tokens.emplace(engine_->Piece(token, false), token);
  }
  SamplingParams params;
  params.temperature = 0;
  params.logit_bias = {{tokens.at("a"), 1000.0F}, {tokens.at("b"), 500.0F}};
  params.grammar = *Grammar::Parse(R"(root ::= ~"a" | "b")");
  EXPECT_EQ(Sample(params, 1).front(), tokens.at("a"));
  params.logit_bias.emplace_back(tokens.at("c"), 2000.0F);
  EXPECT_EQ(Sample(params, 1).front(), tokens.at("b"));
  // What a bias forbids is no plain form.
  params.logit_bias.emplace_back(tokens.at("b"), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(Sample(params, 1).front(), tokens.at("a"));
  params.grammar = *Grammar::Parse(R"(root ::= ~"a")");
  EXPECT_EQ(Sample(params, 1).front(), tokens.at("a"));
}

TEST_F(LlamaSamplerTest, AnswersWithTheSameDrySettingsShareTheirBreakers) {
  SamplingParams params;
  params.seed = 7;
  params.dry.multiplier = 0.8F;
  params.dry.breakers = {"a", "bc"};
  EXPECT_EQ(Sample(params, 20), Sample(params, 20));
  DrySamplers samplers;
  const llama_vocab* const vocab = llama_model_get_vocab(engine_->model());
  const auto make = [&](const DryParams& dry) {
    llama_sampler_free(samplers.Make(vocab, dry, 64));
  };
  for (int i = 0; i < 64; ++i) make(params.dry);
  EXPECT_EQ(samplers.made(), 1u);
  params.dry.breakers.pop_back();
  make(params.dry);
  EXPECT_EQ(samplers.made(), 2u);
}

TEST_F(LlamaSamplerTest, AdaptivePPrefersOtherTokensWithAnotherTarget) {
  SamplingParams params;
  params.seed = 7;
  params.order = {SamplingStep::kAdaptiveP, SamplingStep::kMinP};
  params.adaptive_target = 0.01F;
  const Tokens rare = Sample(params, 200);
  EXPECT_EQ(rare, Sample(params, 200));
  params.adaptive_target = 0.9F;
  EXPECT_NE(rare, Sample(params, 200));
}

}  // namespace
}  // namespace cairn
