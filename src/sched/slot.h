// Slot: a live sequence in the engine's context, and what is known of the tokens in it.
//
// Invariant: the engine's sequence holds exactly `tokens`.
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOT_H_
#define CAIRN_SCHED_SLOT_H_

#include "cache/checkpoint_cache.h"
#include "cache/provenance.h"
#include "cache/resume.h"
#include "engine/engine.h"

namespace cairn {

class Slot {
 public:
  // `engine` outlives the slot.
  Slot(Engine* engine, SeqId seq, size_t grid_tokens)
      : engine_(engine), seq_(seq), grid_tokens_(grid_tokens) {}

  const Tokens& tokens() const { return tokens_; }
  // Whose tokens they are: another namespace may not reuse them.
  NamespaceId name_space() const { return name_space_; }
  const Provenance& provenance() const { return provenance_; }
  SlotState state() const { return {tokens_, provenance_}; }
  // Of what is at the slot's end; 0: a cold run's to the bit.
  LineageId lineage() const { return provenance_.LineageAt(tokens_.size()); }
  bool CanTruncate(size_t position) const { return engine_->CanTruncate(seq_, position); }

  // Empties the slot for `name_space`.
  void Clear(NamespaceId name_space);
  // On an error of the engine the slot is empty.
  Status Truncate(size_t position);
  // Returns to a checkpoint. `prefix` are the tokens before it. On an error the slot is empty.
  Status Restore(TokenSpan prefix, const Checkpoint& checkpoint, ByteSpan snapshot);
  // Takes `path`'s attention KV, but for the part that the slot holds already, and the state of
  // `snapshot`, which is empty where the model needs none. `prefix` are the tokens then held.
  // `shared`: how many of them the slot holds now. On an error the slot is empty.
  Status Join(TokenSpan prefix, size_t shared, const CheckpointCache::PinnedPath& path,
              ByteSpan snapshot);
  // What follows and leaves the grid, or leaves a run where that goes on, is a run of this number.
  void BeginLineage(LineageId lineage) { next_lineage_ = lineage; }

  // Reads `tokens`, part of a prompt, as one piece. On an error of the engine the slot is empty.
  Status Read(TokenSpan tokens);
  // Decodes one token of an answer. On an error of the engine the slot is empty.
  Status Decode(Token token);
  Result<Bytes> TakeSnapshot() { return engine_->TakeSnapshot(seq_); }
  Result<Bytes> TakeSegment(const SegmentGap& range) {
    return engine_->TakeSegment(seq_, range.begin, range.end);
  }

 private:
  void CutTo(size_t position);

  Engine* const engine_;
  const SeqId seq_;
  const size_t grid_tokens_;
  NamespaceId name_space_ = 0;
  Tokens tokens_;
  Provenance provenance_;
  LineageId next_lineage_ = 0;
  // The slot was cut or set to where its last run may go on otherwise.
  bool forks_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOT_H_
