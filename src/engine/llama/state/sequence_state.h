// Reads and writes a sequence's state as libllama's bytes, and finds the reason of a refusal. For
// src/engine/llama/ only.

#ifndef CAIRN_ENGINE_LLAMA_STATE_SEQUENCE_STATE_H_
#define CAIRN_ENGINE_LLAMA_STATE_SEQUENCE_STATE_H_

#include <cstddef>
#include <functional>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"

namespace cairn {

// Writes the state that cannot be rolled back: a recurrent state, or the KV of a sliding window. It
// is placed in `bytes` after `front` bytes that the caller fills in.
Status WritePartialState(const LoadedModel& loaded, SeqId seq, size_t front, Bytes* bytes);
// kCorrupt if libllama refused it.
Status ReadPartialState(const LoadedModel& loaded, SeqId seq, ByteSpan state);

// Writes the state with the attention KV of all positions.
Status WriteFullState(const LoadedModel& loaded, SeqId seq, size_t front, Bytes* bytes);

inline constexpr char kAssembledDiffers[] =
    "a state assembled from segments differs from the original";
// Whether the state is `full_state`, to the byte. kUnsupported with the message `differs` if not.
Status ProveSame(const LoadedModel& loaded, SeqId seq, ByteSpan full_state, const char* differs);
// Forks `seq`, whose state is `full_state`, to `other` and back, because a state names its sequence
// in places that only libllama knows. kUnsupported if a byte changed. The caller clears `other`.
Status ProveForks(const LoadedModel& loaded, SeqId seq, SeqId other, ByteSpan full_state,
                  const std::function<Status(SeqId from, SeqId to)>& fork);

// Returns the likely reason why libllama, which gives none, refused bytes that hold `tokens`
// tokens: kNoSpace if the cells may be too few, else kCorrupt. `cells`: those of the context.
ErrorCode WhyRefused(const LoadedModel& loaded, size_t cells, size_t tokens);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_SEQUENCE_STATE_H_
