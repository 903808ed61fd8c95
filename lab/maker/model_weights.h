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

namespace cairn {

// Returns whether the file should have the tensor. libllama accepts more tensors than real files
// of an architecture have; the optional biases, scales and heads are left out here too.
bool WantsTensor(std::string_view architecture, std::string_view tensor);

// Returns the values of one tensor, row by row. `row_size` is the number of inputs that one output
// sums over (GGUF's first dimension); the result has `row_size * rows` values.
std::vector<float> MakeWeights(std::string_view architecture, std::string_view tensor,
                               size_t row_size, size_t rows, uint64_t seed);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_
