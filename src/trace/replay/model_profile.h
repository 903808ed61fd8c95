// ModelProfile: the sizes of a model's state and its speeds, with which a trace can be replayed
// without the model.
//
// The sizes follow from the model's published configuration, as each profile in the .cc derives:
//
//   snapshot   recurrent layers: heads * key size * value size * 4 bytes, and the convolution's
//              last columns; sliding windows: the window's KV of those layers
//   KV         attention layers: 2 * KV heads * head size * 2 bytes (f16) a token
//
// The speeds are those of one desktop. They only give the ratio of costs: a token prefilled against
// a byte moved. Both can be set on the command line.

#ifndef CAIRN_TRACE_REPLAY_MODEL_PROFILE_H_
#define CAIRN_TRACE_REPLAY_MODEL_PROFILE_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"

namespace cairn {

struct ModelProfile {
  std::string_view name;
  std::string_view source;  // where the sizes come from
  MemoryClass memory_class = MemoryClass::kHybrid;
  size_t snapshot_bytes = 0;
  size_t kv_bytes_per_token = 0;
  size_t window_tokens = 0;
  size_t logits_bytes = 0;  // of one row
  double prefill_tokens_per_s = 0;
  double move_bytes_per_s = 0;  // between the context and RAM
  // Overhead of a stored segment beyond its KV: libllama's headers are next to nothing.
  size_t segment_bytes = 0;
};

std::span<const ModelProfile> ModelProfiles();
// kInvalidArgument: no such profile; the message lists the known ones.
Result<ModelProfile> FindModelProfile(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_TRACE_REPLAY_MODEL_PROFILE_H_
