#include "engine/llama/model/llama_sampler.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
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

TEST_F(LlamaSamplerTest, TheHighestAloneAreSampledFromAsLibllamaSamplesFromAllCandidates) {
  // Of equal ones libllama does not say which come first.
  for (size_t i = 0; i < logits_.size(); ++i) logits_[i] = static_cast<float>(i * 61 % 1009) / 100;
  for (const int32_t top_k : {1, 2, 40, 128, 250, 0}) {
    SamplingParams params;
    params.seed = static_cast<uint32_t>(top_k);
    params.temperature = 3;
    params.top_k = top_k;
    params.top_p = 0.9F;
    params.min_p = 0.001F;
    llama_sampler* const chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
    if (top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(top_k));
    llama_sampler_chain_add(chain, llama_sampler_init_top_p(params.top_p, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_min_p(params.min_p, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_temp(params.temperature));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(params.seed));
    Tokens expected;
    for (int i = 0; i < 200; ++i) {
      std::vector<llama_token_data> all;
      for (const float logit : logits_) all.push_back({static_cast<Token>(all.size()), logit, 0});
      llama_token_data_array array = {all.data(), all.size(), -1, false};
      llama_sampler_apply(chain, &array);
      expected.push_back(array.data[array.selected].id);
    }
    llama_sampler_free(chain);
    EXPECT_EQ(Sample(params, 200), expected) << top_k;
  }
}

TEST_F(LlamaSamplerTest, TheLikeliestTokenIsSampledWithAndWithoutABias) {
  SamplingParams greedy;
  greedy.temperature = 0;
  auto biased = logits_;
  const auto highest = [&] { return std::max_element(biased.begin(), biased.end()); };
  for (int i = 0; i < 20; ++i) {
    const auto likeliest = highest();
    const auto token = static_cast<Token>(likeliest - biased.begin());
    EXPECT_EQ(Sample(greedy, 1).front(), token);
    greedy.logit_bias.emplace_back(token, -2.0F);
    *likeliest -= 2.0F;
  }
}

TEST_F(LlamaSamplerTest, OfEqualLogitsTheLowestTokensAreTheHighest) {
  std::fill(logits_.begin(), logits_.end(), 1.0F);
  SamplingParams params;
  params.temperature = 0;
  EXPECT_EQ(Sample(params, 1).front(), 0);
  params.temperature = 1;
  params.top_k = 3;
  for (const Token token : Sample(params, 50)) EXPECT_LT(token, 3);
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
