#include "engine/llama_sampler.h"

#include <gtest/gtest.h>

#include "engine/llama_fixture.h"

namespace cairn {
namespace {

using Order = std::vector<SamplingStep>;

class LlamaSamplerTest : public ::testing::Test {
 protected:
  LlamaSamplerTest() : engine_(test::Loaded(test::kMade[0])) {
    const Tokens prompt = test::RandomPrompt(40, 1);
    logits_ = test::Read(engine_.get(), prompt, 0, prompt.size());
  }
  // Drawn one after the other from the same logits.
  Tokens Draw(const SamplingParams& params, size_t tokens) {
    const auto sampler = engine_->MakeSampler(params);
    Tokens drawn;
    for (size_t i = 0; i < tokens; ++i) drawn.push_back(sampler->Sample(logits_));
    return drawn;
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
    const Tokens drawn = Draw(params, 20);
    EXPECT_EQ(drawn, Draw(params, 20));
    for (const Token token : drawn) {
      EXPECT_GE(token, 0);
      EXPECT_LT(static_cast<size_t>(token), engine_->info().vocab_size);
    }
  }
}

TEST_F(LlamaSamplerTest, AdaptivePPrefersOtherTokensWithAnotherTarget) {
  SamplingParams params;
  params.seed = 7;
  params.order = {SamplingStep::kAdaptiveP, SamplingStep::kMinP};
  params.adaptive_target = 0.01F;
  const Tokens rare = Draw(params, 200);
  EXPECT_EQ(rare, Draw(params, 200));
  params.adaptive_target = 0.9F;
  EXPECT_NE(rare, Draw(params, 200));
}

}  // namespace
}  // namespace cairn
