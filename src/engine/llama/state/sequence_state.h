// A sequence's state as libllama's bytes, and why libllama refuses them. For src/engine/llama/
// only.

#ifndef CAIRN_ENGINE_LLAMA_STATE_SEQUENCE_STATE_H_
#define CAIRN_ENGINE_LLAMA_STATE_SEQUENCE_STATE_H_

#include <cstddef>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"

namespace cairn {

// The state that cannot be rolled back: a recurrent state, or the KV of a sliding window. It is
// written to `bytes` behind `front` bytes that the caller fills in.
Status WritePartialState(const LoadedModel& loaded, SeqId seq, size_t front, Bytes* bytes);
// kCorrupt: libllama refused it.
Status ReadPartialState(const LoadedModel& loaded, SeqId seq, ByteSpan state);

// The state with the attention KV of all positions.
Status WriteFullState(const LoadedModel& loaded, SeqId seq, size_t front, Bytes* bytes);

// libllama refused bytes that hold `tokens` tokens, and it does not say why. `cells`: those of the
// context. kNoSpace where the cells may be short, else kCorrupt.
ErrorCode WhyRefused(const LoadedModel& loaded, size_t cells, size_t tokens);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_SEQUENCE_STATE_H_
