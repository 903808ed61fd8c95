// The weights of synthetic models: seeded random numbers that keep every layer's output near the
// size of its input, recurrent states finite for any length of prompt, and greedy answers to ASCII
// letters and spaces.
//
// The same on every machine: integers and exactly rounded arithmetic only, no <random>
// distributions and no libm, whose results may differ. Pure functions: any thread.

#ifndef CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_
#define CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cairn {

// Whether the file should hold the tensor at all. libllama makes room for every tensor an
// architecture may have; biases, scales and heads that real files leave out are left out here too.
bool WantsTensor(std::string_view architecture, std::string_view tensor);

// The values of one tensor, row after row. `row_size` is the number of inputs that one output sums
// over (GGUF's first dimension); the size of the result is `row_size * rows`.
std::vector<float> MakeWeights(std::string_view architecture, std::string_view tensor,
                               size_t row_size, size_t rows, uint64_t seed);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MODEL_WEIGHTS_H_
