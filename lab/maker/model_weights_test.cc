#include "lab/maker/model_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "lab/maker/model_vocabulary.h"

namespace cairn {
namespace {

TEST(ModelWeights, FollowFromSeedAndTensorAlone) {
  const auto make = [](const char* tensor, uint64_t seed) {
    return MakeWeights("llama", tensor, 64, 8, seed);
  };
  EXPECT_EQ(make("blk.0.attn_q.weight", 1), make("blk.0.attn_q.weight", 1));
  EXPECT_NE(make("blk.0.attn_q.weight", 1), make("blk.0.attn_q.weight", 2));
  EXPECT_NE(make("blk.0.attn_q.weight", 1), make("blk.1.attn_q.weight", 1));
}

TEST(ModelWeights, AreTheSameOnEveryMachine) {
  // Recorded once; a compiler or processor with other values would make other models.
  const std::vector<float> weights = MakeWeights("llama", "blk.0.ffn_up.weight", 12, 1, 7);
  const std::vector<float> expected = {0.494433522F, -0.156823143F, 0.154458016F, -0.0504077114F};
  EXPECT_EQ(std::vector<float>(weights.begin(), weights.begin() + 4), expected);
}

TEST(ModelWeights, MatricesKeepTheSizeOfWhatPassesThem) {
  const std::vector<float> weights = MakeWeights("llama", "blk.0.ffn_up.weight", 256, 768, 1);
  double sum = 0;
  double squares = 0;
  for (const float weight : weights) {
    sum += weight;
    squares += static_cast<double>(weight) * weight;
  }
  const auto count = static_cast<double>(weights.size());
  EXPECT_NEAR(sum / count, 0, 1e-3);
  EXPECT_NEAR(squares / count, 1.0 / 256, 1e-4);
}

TEST(ModelWeights, OnlyLettersAndSpaceHaveOutputRowsAndTheySumToZero) {
  constexpr size_t kWidth = 64;
  const std::vector<float> output = MakeWeights("qwen35", "output.weight", kWidth, 261, 1);
  std::vector<double> sum(kWidth, 0);
  for (size_t row = 0; row < 261; ++row) {
    const auto first = output.begin() + static_cast<std::ptrdiff_t>(row * kWidth);
    const bool zero = std::all_of(first, first + kWidth, [](float w) { return w == 0; });
    const bool letter = row < 128 && (row == ' ' || std::isalpha(static_cast<int>(row)) != 0);
    EXPECT_EQ(zero, !letter) << "row " << row;
    for (size_t i = 0; i < kWidth; ++i) sum[i] += output[row * kWidth + i];
  }
  for (const double s : sum) EXPECT_NEAR(s, 0, 1e-4);
}

TEST(ModelWeights, StatesFadeSomeFastSomeSlowly) {
  const std::vector<float> decay = MakeWeights("mamba2", "blk.0.ssm_a", 1, 8, 1);
  EXPECT_LT(*std::max_element(decay.begin(), decay.end()), 0);
  EXPECT_GT(*std::max_element(decay.begin(), decay.end()), -0.01F);
  EXPECT_LT(*std::min_element(decay.begin(), decay.end()), -0.1F);
}

TEST(ModelWeights, NormsAreNearOne) {
  for (const float weight : MakeWeights("llama", "blk.0.attn_norm.weight", 256, 1, 1)) {
    EXPECT_NEAR(weight, 1, 0.25);
  }
}

TEST(ModelWeights, LeaveOutWhatRealFilesLeaveOut) {
  EXPECT_TRUE(WantsTensor("llama", "blk.0.attn_q.weight"));
  EXPECT_FALSE(WantsTensor("llama", "blk.0.attn_q.bias"));
  EXPECT_FALSE(WantsTensor("llama", "blk.0.attn_q.scale"));
  EXPECT_FALSE(WantsTensor("llama", "blk.0.ffn_up.input_scale"));
  EXPECT_FALSE(WantsTensor("llama", "rope_freqs.weight"));
  EXPECT_FALSE(WantsTensor("qwen35", "cls.output.weight"));
  EXPECT_TRUE(WantsTensor("gpt-oss", "blk.0.attn_q.bias"));
  EXPECT_TRUE(WantsTensor("mamba2", "blk.0.ssm_dt.bias"));
  EXPECT_TRUE(WantsTensor("falcon-h1", "blk.0.ssm_a"));
}

}  // namespace
}  // namespace cairn
