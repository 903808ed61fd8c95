// LlamaFullStates: takes and restores the full state of a sequence as bytes. Used where cells
// cannot be shared, and therefore segments cannot be taken.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_FULL_STATES_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_FULL_STATES_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/state/llama_sequences.h"

namespace cairn {

class LlamaFullStates {
 public:
  // Size of our prefix to libllama's bytes in a full state: its kind, position and length.
  static constexpr size_t kHeaderBytes = 24;

  // All must outlive this object. `cells`: Engine::cells.
  LlamaFullStates(const LoadedModel* loaded, const MemoryTraits* traits, LlamaSequences* sequences,
                  std::function<size_t()> cells)
      : loaded_(loaded), traits_(traits), sequences_(sequences), cells_(std::move(cells)) {}

  // Engine::TakeFullState and SetFullState.
  Result<Bytes> Take(SeqId seq);
  Status Set(SeqId seq, size_t position, ByteSpan state_bytes);

  // Takes the full state of `seq` and restores it. Returns an error if the result is not
  // bit-identical; then full states must not be used.
  Status Prove(SeqId seq);

 private:
  const LoadedModel* const loaded_;
  const MemoryTraits* const traits_;
  LlamaSequences* const sequences_;
  const std::function<size_t()> cells_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_FULL_STATES_H_
