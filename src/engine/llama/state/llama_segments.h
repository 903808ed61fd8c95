// LlamaSegments: how attention KV of a range of positions leaves a sequence and comes back, through
// llama.h alone.
//
// seq_cp shares the range's cells with a scratch sequence, whose state libllama then writes as
//
//   | 8 bytes: kind | attention KV of the range | state that cannot be rolled back |
//
// The last part is of no use here and may be large, so the one of an empty sequence takes its
// place: a few bytes, with which libllama reads the rest just the same. Coming back, a segment is
// read into the scratch sequence, and seq_cp shares its front with the slot. It must be the front:
// cells behind it are freed, and were those before the others, later tokens would be put there, in
// another order than a cold run's.
//
// The layout of a state is libllama's own and may change. So each load takes a short sequence apart
// and assembles it again (Prove); unless every byte is the same, segments are not used. On some
// architectures seq_cp aborts the process: they are not in the table (verified_architectures.h),
// and nothing here is called on them.
//
// Threads: the one that owns the context. Functions that Engine names do as it says there.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEGMENTS_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEGMENTS_H_

#include <cstddef>
#include <functional>
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
  // All outlive it. `cells`: Engine::cells.
  LlamaSegments(const LoadedModel* loaded, const MemoryTraits* traits, LlamaSequences* sequences,
                std::function<size_t()> cells)
      : loaded_(loaded), traits_(traits), sequences_(sequences), cells_(std::move(cells)) {}

  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end);
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  ByteSpan snapshot);
  // A fork shares every cell of [0, position), those of a window and a recurrent state too, until
  // the snapshot gives it its own. A window's cell is only used again when one sequence holds it,
  // so two that went on with a shared one would find ever fewer.
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot);

  // Takes `seq` apart, assembles it again and forks it. An error says that its state is not the
  // same to the byte, and segments must not be used.
  Status Prove(SeqId seq);

 private:
  // Writes the scratch sequence, which holds positions [begin, end).
  Status WriteSegment(size_t begin, size_t end, Bytes* bytes);
  Status SetSegment(SeqId seq, const SegmentPart& part);
  // Drops all behind `keep`. State other than attention KV has no meaning afterwards.
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
