// LlamaSegments: takes the attention KV of a range of positions out of a sequence and assembles it
// again, through llama.h only.
//
// seq_cp shares the range's cells with a scratch sequence, whose state libllama then writes as
//
//   | 8 bytes: kind | attention KV of the range | state that cannot be rolled back |
//
// The last part is not needed here and may be large, so it is replaced by that of an empty
// sequence: a few bytes, with which libllama still reads the rest. To assemble, a segment is read
// into the scratch sequence, and seq_cp shares its front with the slot. It must be the front: the
// cells after it are freed, and if they lay before the others, later tokens would be placed there,
// in another order than a cold run's.
//
// The layout of a state is libllama's own and may change. So each load takes a short sequence apart
// and assembles it again (Prove); unless every byte is identical, segments are not used. On some
// architectures seq_cp aborts the process: they are not in the table (verified_architectures.h),
// and this class is not used on them.
//
// Threads: the one that owns the context. Functions named in Engine behave as described there.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEGMENTS_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEGMENTS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/state/llama_sequences.h"

namespace cairn {

class LlamaSegments {
 public:
  // All must outlive this object. `cells`: Engine::cells.
  LlamaSegments(const LoadedModel* loaded, const MemoryTraits* traits, LlamaSequences* sequences,
                std::function<size_t()> cells)
      : loaded_(loaded), traits_(traits), sequences_(sequences), cells_(std::move(cells)) {}

  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end);
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot);
  // A fork shares every cell of [0, position), including those of a window and a recurrent state,
  // until the snapshot gives it its own. A window's cell is only reused when one sequence holds it,
  // so two sequences that continued with a shared window would find ever fewer cells.
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot);

  // Takes `seq` apart, assembles it again and forks it. Returns an error if the result is not
  // bit-identical; then segments must not be used.
  Status Prove(SeqId seq);

 private:
  // Writes the state of the scratch sequence, which holds positions [begin, end).
  Status WriteSegment(size_t begin, size_t end, Bytes* bytes);
  Status SetSegment(SeqId seq, const SegmentPart& part);
  // Drops all tokens after `keep`. State other than attention KV has no meaning afterwards.
  void KeepFront(SeqId seq, size_t keep);
  Status ProveFork(SeqId seq, ByteSpan full_state, ByteSpan snapshot);

  const LoadedModel* const loaded_;
  const MemoryTraits* const traits_;
  LlamaSequences* const sequences_;
  const std::function<size_t()> cells_;
  Bytes empty_partial_;  // the state that cannot be rolled back, of an empty sequence
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEGMENTS_H_
