// ModelProfile: what a model's state weighs and how fast it is read, so that a trace can be
// replayed without the model.
//
// Sizes follow from the model's published configuration, as each profile in the .cc file works out:
//
//   snapshot   recurrent layers: heads * key size * value size * 4 bytes, and the convolution's
//              last columns; sliding windows: the window's KV of those layers
//   KV         attention layers: 2 * KV heads * head size * 2 bytes (f16) a token
//
// Speeds are those of one desktop and only say what is dear beside what: a token read against a
// byte moved. Both can be given on the command line.

#ifndef CAIRN_LAB_SIM_MODEL_PROFILE_H_
#define CAIRN_LAB_SIM_MODEL_PROFILE_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"

namespace cairn {

struct ModelProfile {
  std::string_view name;
  std::string_view source;  // of the sizes
  MemoryClass memory_class = MemoryClass::kHybrid;
  size_t snapshot_bytes = 0;
  size_t kv_bytes_per_token = 0;
  size_t window_tokens = 0;
  size_t logits_bytes = 0;  // of one row
  double read_tokens_per_s = 0;
  double move_bytes_per_s = 0;  // between the context and RAM
  // Of a stored range of KV, beside the KV itself: libllama's headers are next to nothing.
  size_t segment_bytes = 0;
};

std::span<const ModelProfile> ModelProfiles();
// kInvalidArgument names the profiles there are.
Result<ModelProfile> FindModelProfile(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_MODEL_PROFILE_H_
