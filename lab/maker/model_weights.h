// The weights of synthetic models: seeded random numbers that keep every layer's output near the
// size of its input, recurrent states finite for prompts of any length, and greedy answers to ASCII
// letters and spaces.
//
// The same on every machine: only integers and exactly rounded arithmetic, no <random>
// distributions and no libm, whose results may differ. Pure functions: any thread.

#ifndef CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_
#define CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/maker/model_recipe.h"

namespace cairn {

// Returns whether the file should have the tensor. libllama accepts more tensors than real files
// of an architecture have; the optional biases, scales and heads are left out here too.
bool WantsTensor(std::string_view architecture, std::string_view tensor);

// Returns the values of one tensor, row by row. `row_size` is the number of inputs that one output
// sums over (GGUF's first dimension); the result has `row_size * rows` values.
std::vector<float> MakeWeights(std::string_view architecture, std::string_view tensor,
                               size_t row_size, size_t rows, uint64_t seed);

// The weights of a synthetic model that has a head for multi-token prediction (ModelShape::mtp).
//
// A random head is hardly ever right, because nothing has taught it. So a share of letters may be
// given (ModelShape::mtp_right) behind which it is: the model's layers then add little to the
// embedding of the last token, and the head passes the embedding of its own last token on to the
// same output. In front of the other letters the head's output rows are exchanged, so it is wrong.
//
// Pure functions: any thread.

// Whether the tensor is one that only heads have: "blk.4.nextn.eh_proj.weight".
bool IsHeadTensor(std::string_view tensor);
// Whether the file should have it. Real files share the model's embeddings and mostly its output.
bool HeadWantsTensor(const ModelShape& shape, std::string_view tensor);
// As MakeWeights, for any tensor of a model of this shape.
std::vector<float> WeightsWithHead(const ModelShape& shape, std::string_view tensor,
                                   size_t row_size, size_t rows);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_
