#include "lab/maker/mtp_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/text.h"
#include "lab/maker/model_weights.h"

namespace cairn {
namespace {

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
