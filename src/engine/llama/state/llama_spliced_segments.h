// LlamaSplicedSegments: takes the attention KV of a range of positions out of a sequence and
// assembles it again, by cutting and splicing full states on the host. Used where each sequence has
// a stream of its own: there libllama cannot share the cells of a range with a scratch sequence, as
// LlamaSegments does.
//
//   TakeSegment   the full state of the sequence; the rows of the range are cut out of it
//   Assemble      the rows to keep, those of the parts, and the snapshot become one full state,
//                 which is set in one call: its cells lie in the order of a cold run
//   Fork          the rows of the origin and the snapshot, likewise
//
// A segment is the state of a sequence that holds the range alone in one buffer, so both classes
// read each other's segments.
//
// A full state costs as much as the whole sequence, and several segments are usually taken one
// after another. So it is kept until the sequence changes, the sequence's end is taken, or the
// caller has all it needs (Release).
//
// The layout of a state is libllama's own (state_layout.h). It is learned at load and proven on a
// short sequence (Prove); unless every byte is identical, segments are not used.
//
// Threads: the one that owns the context. Functions named in Engine behave as described there.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_SPLICED_SEGMENTS_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_SPLICED_SEGMENTS_H_

#include <cstddef>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/state/llama_sequences.h"
#include "engine/llama/state/state_layout.h"

namespace cairn {

class LlamaSplicedSegments {
 public:
  // All must outlive this object.
  LlamaSplicedSegments(const LoadedModel* loaded, const MemoryTraits* traits,
                       LlamaSequences* sequences)
      : loaded_(loaded), traits_(traits), sequences_(sequences) {}

  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end);
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  ByteSpan snapshot);
  // The fork has cells of its own; `from` stays as it is.
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot);

  // Frees the state that TakeSegment keeps.
  void Release() { taken_.reset(); }
  // Called when a sequence changes.
  void OnChanged(SeqId seq) {
    if (taken_ && taken_->seq == seq) Release();
  }

  // Learns the layout, takes `seq` apart, assembles it again and forks it. Returns an error if the
  // result is not bit-identical; then segments must not be used. REQUIRES: there are at least two
  // slots, and only `seq` is not empty.
  Status Prove(SeqId seq);

 private:
  struct Taken {
    SeqId seq = 0;
    Bytes state;
  };

  // Takes the full state of `seq`, or uses the one that is kept.
  Result<StateLayout::Kv> KvOf(SeqId seq);
  // The positions and cells of the tokens [begin, end) of `seq`.
  StateLayout::Range RangeOf(SeqId seq, size_t begin, size_t end) const;
  Status AppendPart(SeqId seq, const SegmentPart& part, StateSplice* splice) const;
  Result<Bytes> Splice(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                       ByteSpan snapshot);
  // Sets a spliced state. On an error the sequence is empty.
  Status SetState(SeqId seq, size_t position, const Result<Bytes>& state);
  // Returns the state that cannot be rolled back, as it stands at the end of a full state.
  Result<ByteSpan> RestIn(ByteSpan snapshot, size_t position) const;
  Status Learn(SeqId seq, ByteSpan full_state);
  Status ProveAssembly(SeqId seq, ByteSpan full_state, ByteSpan snapshot);
  Status ProveFork(SeqId seq, ByteSpan full_state, ByteSpan snapshot);

  const LoadedModel* const loaded_;
  const MemoryTraits* const traits_;
  LlamaSequences* const sequences_;
  std::optional<StateLayout> layout_;
  Bytes empty_rest_;  // the state that cannot be rolled back, of an empty sequence in one buffer
  std::optional<Taken> taken_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_SPLICED_SEGMENTS_H_
