// ModelRecipe: the metadata and sizes of a synthetic model, independent of libllama. Other code
// includes this header; lab/maker/llama_model_maker.h turns a recipe into a GGUF file.
//
// A synthetic model has a real architecture, a vocabulary of bytes and random weights. It computes
// like a real model, but its text is meaningless: greedy answers are ASCII letters and spaces. They
// never end by themselves, because the end token's logit is always 0 and some letter's is above it;
// the caller's max_tokens ends an answer.
//
// Pure functions and plain data: any thread.

#ifndef CAIRN_LAB_MAKER_MODEL_RECIPE_H_
#define CAIRN_LAB_MAKER_MODEL_RECIPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cairn {

using MetadataValue =
    std::variant<uint32_t, int32_t, float, bool, std::string, std::vector<int32_t>,
                 std::vector<uint32_t>, std::vector<float>, std::vector<std::string>>;
// GGUF keys and values in the order of the file.
using Metadata = std::vector<std::pair<std::string, MetadataValue>>;

// Returns the value of `key`, or nullptr.
const MetadataValue* FindMetadata(const Metadata& metadata, std::string_view key);

// The sizes that a caller may choose. 0: the architecture's default.
struct ModelShape {
  std::string architecture;  // libllama's name for it, such as "qwen35"
  uint32_t width = 0;        // size of the embedding
  uint32_t layers = 0;
  uint32_t ff = 0;             // width of the feed-forward layers
  uint32_t heads = 0;          // attention heads, or state heads if there is no attention
  uint32_t window_tokens = 0;  // sliding window, for the architectures that have one
  uint32_t train_context_tokens = 0;
  uint64_t seed = 1;     // of the weights
  bool infill = false;   // adds infill tokens to the vocabulary
  bool ranks = false;    // adds a classification head; see KnownEncodersThatRank, and qwen3
  bool unigram = false;  // an encoder has the vocabulary of XLM-RoBERTa, not that of BERT
  // Adds a head for multi-token prediction (lab/maker/model_weights.h); see
  // KnownArchitecturesWithHeads.
  bool mtp = false;
  // The share of letters behind which the head is right; then the model's text depends mostly on
  // its last letter. Negative: its weights are random, and it is hardly ever right.
  float mtp_right = -1;
};

struct ModelRecipe {
  ModelShape shape;   // every size filled in; ff and window_tokens are 0 if not applicable
  Metadata metadata;  // the whole file except its tensors
};

// Returns the architectures that write text and that MakeRecipe knows, in alphabetical order. It
// also knows KnownEncoders() (lab/maker/encoder_recipe.h).
std::vector<std::string> KnownArchitectures();
// Those of them that may have a head for multi-token prediction.
std::vector<std::string> KnownArchitecturesWithHeads();

// kNotFound: an unknown architecture; the message lists the known ones.
// kInvalidArgument: sizes that do not fit each other; the message says which and why.
Result<ModelRecipe> MakeRecipe(const ModelShape& wanted);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MODEL_RECIPE_H_
