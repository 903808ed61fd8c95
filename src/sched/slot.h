// Slot: a live sequence in the engine's context, and what is known of the tokens in it.
//
// Invariant: the engine's sequence holds exactly `tokens`.
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOT_H_
#define CAIRN_SCHED_SLOT_H_

#include "cache/checkpoint_cache.h"
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
  SlotState state() const { return {tokens_, clean_, lineage_, answers_}; }
  // What is at the slot's end is a cold run's to the bit.
  bool on_grid() const { return clean_ == tokens_.size(); }
  LineageId lineage() const { return lineage_; }
  bool CanTruncate(size_t position) const { return engine_->CanTruncate(seq_, position); }

  // Empties the slot for `name_space`.
  void Clear(NamespaceId name_space);
  // On an error of the engine the slot is empty.
  Status Truncate(size_t position);
  // Returns to a checkpoint. `prefix` are the tokens before it. On an error the slot is empty.
  Status Restore(TokenSpan prefix, const Checkpoint& checkpoint, std::span<const uint8_t> snapshot);
  // What follows, if it leaves the grid, is a run of its own.
  void BeginLineage(LineageId lineage);

  // Reads `tokens`, part of a prompt, as one piece. On an error of the engine the slot is empty.
  Status Read(TokenSpan tokens);
  // Decodes one token of an answer. On an error of the engine the slot is empty.
  Status Decode(Token token);
  Result<Bytes> TakeSnapshot() { return engine_->TakeSnapshot(seq_); }

 private:
  // Forgets what is known of positions at and after `position`.
  void Forget(size_t position);

  Engine* const engine_;
  const SeqId seq_;
  const size_t grid_tokens_;
  NamespaceId name_space_ = 0;
  Tokens tokens_;
  size_t clean_ = 0;
  LineageId lineage_ = 0;
  std::vector<TokenRange> answers_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOT_H_
