// Slot: a live sequence in the engine's context, and what is known of the tokens in it.
//
// Invariant: the engine's sequence holds exactly `tokens`.
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOTS_SLOT_H_
#define CAIRN_SCHED_SLOTS_SLOT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/provenance.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/slots/cell_ledger.h"

namespace cairn {

class Slot {
 public:
  // `engine` and `ledger` outlive the slot; it is number `seq` in both.
  Slot(Engine* engine, CellLedger* ledger, SeqId seq, size_t grid_tokens)
      : engine_(engine), ledger_(ledger), seq_(seq), grid_tokens_(grid_tokens) {}

  SeqId seq() const { return seq_; }

  const Tokens& tokens() const { return tokens_; }
  // Whose tokens they are: another namespace may not reuse them.
  NamespaceId name_space() const { return name_space_; }
  const Provenance& provenance() const { return provenance_; }
  // So many tokens from the begin on, the slot holds what reading them gives: all, until something
  // is moved (see Drop); from then on what was clean before that. The slot alone may go on from the
  // rest; it is not stored, and no other slot begins from it.
  size_t own_tokens() const { return std::min(own_tokens_, tokens_.size()); }
  bool is_own() const { return own_tokens() == tokens_.size(); }
  // Of these tokens.
  Provenance own_provenance() const;
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
  // Takes the attention KV of `path`, which begins at 0 and comes to `provenance`, but for the part
  // that the slot holds already, and the state of `snapshot`, which is empty where the model needs
  // none. `prefix` are the tokens then held. `shared`: how many of them the slot holds now. On an
  // error the slot is empty.
  Status Assemble(TokenSpan prefix, size_t shared, const Provenance& provenance,
                  std::span<const SegmentPart> path, ByteSpan snapshot);
  // Shares the first `position` tokens of `from`, which stays as it is, and takes the state of
  // `snapshot`, as Assemble does. On an error the slot is empty.
  Status Fork(const Slot& from, size_t position, ByteSpan snapshot);
  // Drops the range, so that what stands behind it moves up and is a run of its own, of this
  // number. REQUIRES: the engine shifts; what stands behind the range is there, and in no other
  // slot. On an error the slot is empty.
  Status Drop(const TokenRange& range, LineageId lineage);
  // Copies what stands behind `begin`, so that no other slot lies in the same cells. REQUIRES: it
  // is all there, and there is room. On an error the slot is empty.
  Status Unshare(size_t begin);
  // Becomes the slot that `whole` was taken of. On an error the slot is empty.
  Status SetFullState(const FullState& whole, ByteSpan bytes);
  // What follows and leaves the grid, or leaves a run where that goes on, is a run of this number.
  void BeginLineage(LineageId lineage) { next_lineage_ = lineage; }

  // Whether the last token was an answer's.
  bool ends_in_answer() const {
    return !provenance_.answers.empty() && provenance_.answers.back().end == tokens_.size();
  }

  // Computes `tokens`, part of a prompt, as one chunk. On an error of the engine the slot is empty.
  Status Prefill(TokenSpan tokens);
  // Decodes one token that was an answer's before the slot was lost. Errors as Read's.
  Status DecodeAnswered(Token token);
  // The engine has decoded one token of an answer at the slot's end.
  void AddDecoded(Token token);
  // The engine has lost the sequence.
  void Lose();
  Result<Bytes> TakeSnapshot() { return engine_->TakeSnapshot(seq_); }
  Result<Bytes> TakeSegment(const SegmentGap& range) {
    return engine_->TakeSegment(seq_, range.begin, range.end);
  }
  Result<Bytes> TakeFullState() { return engine_->TakeFullState(seq_); }

 private:
  void CutTo(size_t position);
  // The engine has decoded `tokens` at the slot's end as one chunk.
  void AddChunk(TokenSpan tokens);
  // The token at `begin`, which is the last, is an answer's.
  void MarkAnswered(size_t begin);
  void CountCells() { ledger_->SetTokens(static_cast<size_t>(seq_), tokens_.size()); }

  Engine* const engine_;
  CellLedger* const ledger_;
  const SeqId seq_;
  const size_t grid_tokens_;
  NamespaceId name_space_ = 0;
  Tokens tokens_;
  Provenance provenance_;
  size_t own_tokens_ = SIZE_MAX;  // SIZE_MAX: all
  LineageId next_lineage_ = 0;
  // The slot was cut or set to where its last run may go on otherwise.
  bool forks_ = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_H_
