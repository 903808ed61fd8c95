#include "lab/maker/model_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "base/tokens.h"
#include "lab/maker/model_vocabulary.h"

namespace cairn {
namespace {

// The splitmix64 generator.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  // Returns a number in [0, 1).
  float Uniform() { return static_cast<float>(Next() >> 40) * 0x1p-24F; }

  // Nearly normal, with mean 0 and deviation 1: the sum of four 16-bit numbers, within +-3.46.
  float Normal() {
    const uint64_t bits = Next();
    const auto sum = static_cast<int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                          ((bits >> 32) & 0xFFFF) + (bits >> 48));
    constexpr int32_t kMean = 2 * 0xFFFF;
    constexpr float kDeviation = 37837.0F;  // of four uniform 16-bit numbers
    return static_cast<float>(sum - kMean) / kDeviation;
  }

 private:
  uint64_t state_;
};

// Every tensor has a random sequence of its own, independent of the other tensors.
uint64_t TensorSeed(std::string_view tensor, uint64_t seed) {
  return Hash64(tensor, seed);
}

constexpr int kAnswerTokens = 53;
bool IsAnswerToken(size_t token) {
  return token == ' ' || (token >= 'A' && token <= 'Z') || (token >= 'a' && token <= 'z');
}

// A letter's row is random, minus the direction of the letter's own embedding: the last letter is
// still visible in the hidden state, and otherwise an answer soon repeats one letter for ever.
//
// The rows of all letters sum to zero. So at every hidden state some letter's logit is at least 0,
// the logit of all other tokens; with 53 letters the greatest is well above it.
std::vector<float> MakeOutput(size_t row_size, size_t rows, uint64_t seed) {
  const float unit = 1.0F / std::sqrt(static_cast<float>(row_size));
  Random random(TensorSeed("output.weight", seed));
  Random embedding(TensorSeed("token_embd.weight", seed));
  std::vector<float> weights(row_size * rows, 0.0F);
  std::vector<float> mean(row_size, 0.0F);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < row_size; ++i) {
      const float direction = embedding.Normal();
      if (!IsAnswerToken(row)) continue;
      const float weight = unit * (random.Normal() - direction);
      weights[row * row_size + i] = weight;
      mean[i] += weight / static_cast<float>(kAnswerTokens);
    }
  }
  for (size_t row = 0; row < rows; ++row) {
    if (!IsAnswerToken(row)) continue;
    for (size_t i = 0; i < row_size; ++i) weights[row * row_size + i] -= mean[i];
  }
  return weights;
}

// The distribution of a tensor's values: centre + spread * (a normal or a uniform number).
struct Sample {
  float centre = 0;
  float spread = 0;
  bool uniform = false;
};

float Embedding(std::string_view architecture, size_t row_size) {
  // Small against the layers' output, so that the next letter depends on more than the last one.
  constexpr float kDeviation = 0.7F;
  // Gemma multiplies its embeddings by the root of the width.
  if (architecture == "gemma3") return kDeviation / std::sqrt(static_cast<float>(row_size));
  return kDeviation;
}

// Makes attention sharp: with keys and queries of unit size all tokens would get about the same
// share. In normalised attention, the norm's weight sets the size of keys and queries.
constexpr float kAttentionGain = 1.6F;

// Projectors call their norms otherwise than text models do.
bool IsNormOfEncoder(std::string_view tensor) {
  return Contains(tensor, ".ln1.weight") || Contains(tensor, ".ln2.weight") ||
         Contains(tensor, ".post_ln.weight");
}

Sample DrawFor(std::string_view architecture, std::string_view tensor, size_t row_size) {
  // Gives outputs of unit size for inputs of unit size.
  const float unit = 1.0F / std::sqrt(static_cast<float>(row_size));
  if (Contains(tensor, "attn_q_norm") || Contains(tensor, "attn_k_norm")) {
    return {kAttentionGain, 0.05F};
  }
  if (tensor.ends_with("norm.bias") && !tensor.starts_with("mm.")) return {0.0F, 0.1F};
  if (Contains(tensor, "norm") || IsNormOfEncoder(tensor)) return {1.0F, 0.05F};
  if (Contains(tensor, "ssm_dt.bias")) return {-2.0F, 1.5F, true};
  if (Contains(tensor, "ssm_dt") || Contains(tensor, "ssm_alpha")) return {0.0F, 0.5F * unit};
  // The path around the state is small, so that the answer depends on the state.
  if (Contains(tensor, "ssm_d")) return {0.1F, 0.01F};
  if (Contains(tensor, "conv") && tensor.ends_with("weight") && row_size < 16) {
    return {0.0F, 0.5F};
  }
  if (Contains(tensor, "bias") || Contains(tensor, "sinks")) return {0.0F, 0.1F};
  if (tensor == "token_embd.weight") return {0.0F, Embedding(architecture, row_size)};
  if (Contains(tensor, "attn_q.") || Contains(tensor, "attn_k.")) {
    return {0.0F, kAttentionGain * unit};
  }
  if (Contains(tensor, "attn_output.")) return {0.0F, 2.0F * unit};
  return {0.0F, unit};
}

// A state decays by exp(ssm_a * step) per token, where a step is softplus(ssm_dt), 0.03 to 0.5.
// Each head has its own decay time, from some ten tokens to some ten thousand. The values are
// negative, because a state with a rate of 0 or above would grow without limit.
float StateDecay(size_t index, Random* random) {
  constexpr std::array<float, 5> kRates = {0.3F, 0.075F, 0.02F, 0.005F, 0.00125F};
  return -kRates[index % kRates.size()] * (0.8F + 0.4F * random->Uniform());
}

// The share that the layers of a model whose head is right add, against a usual one: enough that
// answers are no plain cycles, too little to change most letters.
constexpr float kDamped = 0.05F;
constexpr size_t kLetters = 26;

// A layer adds to the hidden state through one of these.
bool LeavesTheLayer(std::string_view tensor) {
  constexpr std::array<std::string_view, 3> kLast = {"attn_output.", "ssm_out.", "ffn_down"};
  return std::any_of(kLast.begin(), kLast.end(),
                     [&](std::string_view name) { return Contains(tensor, name); });
}

bool IsOfHeadLayer(const ModelShape& shape, std::string_view tensor) {
  return tensor.starts_with("blk." + std::to_string(shape.layers) + ".");
}

// Passes the normalised embedding on, which comes before the hidden state.
std::vector<float> PassEmbedding(size_t row_size, size_t rows) {
  std::vector<float> weights(row_size * rows, 0.0F);
  for (size_t row = 0; row < rows; ++row) weights[row * row_size + row] = 1.0F;
  return weights;
}

// The model's output, in which the last letters of the alphabet have the rows of those of the other
// case.
std::vector<float> ExchangedOutput(const ModelShape& shape, size_t row_size, size_t rows) {
  const std::vector<float> output =
      MakeWeights(shape.architecture, "output.weight", row_size, rows, shape.seed);
  std::vector<float> weights = output;
  const auto right =
      static_cast<size_t>(std::lround(shape.mtp_right * static_cast<float>(kLetters)));
  for (size_t letter = right; letter < kLetters; ++letter) {
    const size_t upper = ('A' + letter) * row_size;
    const size_t lower = ('a' + letter) * row_size;
    std::copy_n(&output[upper], row_size, &weights[lower]);
    std::copy_n(&output[lower], row_size, &weights[upper]);
  }
  return weights;
}

}  // namespace

bool WantsTensor(std::string_view architecture, std::string_view tensor) {
  if (tensor.ends_with(".scale") || tensor.ends_with(".input_scale")) return false;
  if (tensor == "rope_freqs.weight" || tensor.starts_with("cls.")) return false;
  const bool optional_bias =
      tensor.ends_with(".bias") && (Contains(tensor, ".attn_") || Contains(tensor, ".ffn_"));
  return !optional_bias || architecture == "gpt-oss";
}

std::vector<float> MakeWeights(std::string_view architecture, std::string_view tensor,
                               size_t row_size, size_t rows, uint64_t seed) {
  const bool writes_text = tensor == "output.weight" && architecture != "gemma-embedding2";
  if (writes_text) return MakeOutput(row_size, rows, seed);
  Random random(TensorSeed(tensor, seed));
  const Sample draw = DrawFor(architecture, tensor, row_size);
  std::vector<float> weights(row_size * rows);
  const bool decays = tensor.ends_with(".ssm_a");
  for (size_t i = 0; i < weights.size(); ++i) {
    if (decays) {
      weights[i] = StateDecay(i, &random);
      continue;
    }
    const float number = draw.uniform ? 2.0F * random.Uniform() - 1.0F : random.Normal();
    weights[i] = draw.centre + draw.spread * number;
  }
  return weights;
}

bool IsHeadTensor(std::string_view tensor) {
  return Contains(tensor, ".nextn.");
}

bool HeadWantsTensor(const ModelShape& shape, std::string_view tensor) {
  if (!shape.mtp || !tensor.ends_with(".weight")) return false;
  if (Contains(tensor, "embed_tokens")) return false;
  const bool is_made = shape.mtp_right >= 0;
  // Without a norm of its own the head has that of the model.
  if (Contains(tensor, "shared_head_norm")) return !is_made;
  if (Contains(tensor, "shared_head_head")) return is_made && shape.mtp_right < 1;
  return true;
}

std::vector<float> WeightsWithHead(const ModelShape& shape, std::string_view tensor,
                                   size_t row_size, size_t rows) {
  const bool is_made = shape.mtp && shape.mtp_right >= 0;
  if (is_made && Contains(tensor, "nextn.eh_proj")) return PassEmbedding(row_size, rows);
  if (is_made && Contains(tensor, "nextn.enorm")) return std::vector<float>(row_size * rows, 1.0F);
  if (is_made && Contains(tensor, "shared_head_head")) {
    return ExchangedOutput(shape, row_size, rows);
  }
  std::vector<float> weights = MakeWeights(shape.architecture, tensor, row_size, rows, shape.seed);
  if (!is_made || !LeavesTheLayer(tensor)) return weights;
  const float share = IsOfHeadLayer(shape, tensor) ? 0.0F : kDamped;
  for (float& weight : weights) weight *= share;
  return weights;
}

}  // namespace cairn
