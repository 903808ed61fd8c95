// Slot: a live sequence in the engine's context, with its tokens and their provenance.
//
// Invariant: the engine's sequence holds exactly `tokens`; while drafts are verified, and from
// SlotAssembly::Begin to End, more.
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_SLOTS_SLOT_H_
#define CAIRN_SCHED_SLOTS_SLOT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/provenance.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/slots/cell_ledger.h"
#include "tree/prompt_cuts.h"

namespace cairn {

class Slot;

// A chunk of the prompt of one slot.
struct SlotChunk {
  Slot* slot = nullptr;
  TokenSpan tokens;
};
// As Slot::Prefill of each, in one computation (Engine::DecodeChunks). On kInternal all the slots
// are empty. REQUIRES: their namespaces use the same adapters.
Status PrefillTogether(Engine* engine, std::span<const SlotChunk> chunks);

class Slot {
 public:
  // All must outlive the slot, which is number `seq` of `engine` and `ledger`.
  Slot(Engine* engine, CellLedger* ledger, SeqId seq, const CutRules* rules)
      : engine_(engine), ledger_(ledger), seq_(seq), rules_(rules), cuts_(rules->grid_tokens, 0) {}

  SeqId seq() const { return seq_; }

  const Tokens& tokens() const { return tokens_; }
  // The namespace that owns the tokens; another namespace may not reuse them.
  NamespaceId name_space() const { return name_space_; }
  const Provenance& provenance() const { return provenance_; }
  // The number of first tokens whose state equals that of a prefill: all, until tokens are moved
  // (see Drop); from then on those that were clean before the move. Only the slot itself may
  // continue from the rest: it is not stored, and no other slot begins from it.
  size_t own_tokens() const { return std::min(own_tokens_, tokens_.size()); }
  bool is_own() const { return own_tokens() == tokens_.size(); }
  // The provenance of the own tokens.
  Provenance own_provenance() const;
  SlotState state() const { return {tokens_, provenance_}; }
  // The lineage at the slot's end; 0: bit-identical to a cold run.
  LineageId lineage() const { return provenance_.LineageAt(tokens_.size()); }
  const PromptCuts& cuts() const { return cuts_; }
  bool CanTruncate(size_t position) const { return engine_->CanTruncate(seq_, position); }

  // Empties the slot for `name_space`.
  void Clear(NamespaceId name_space);
  // On an error of the engine the slot is empty. REQUIRES: BeginLineage was called, if `position`
  // is in the clean part and no cut.
  Status Truncate(size_t position);
  // Restores a checkpoint. `prefix`: the tokens before it. On an error the slot is empty.
  Status Restore(TokenSpan prefix, const Checkpoint& checkpoint, ByteSpan snapshot);
  // Begins with the first `position` tokens of `from`, which is unchanged, and restores `snapshot`
  // as SlotAssembly does. On an error the slot is empty.
  Status Fork(const Slot& from, size_t position, ByteSpan snapshot);
  // Drops the range; the tokens after it shift down and become a run of number `lineage`. REQUIRES:
  // the engine shifts; the tokens after the range are present, and in no other slot. On an error
  // the slot is empty.
  Status Drop(const TokenRange& range, LineageId lineage);
  // Copies the tokens after `begin` into cells that no other slot shares. REQUIRES: they are all
  // present, and there is room. On an error the slot is empty.
  Status Unshare(size_t begin);
  // Restores the slot that the full state `whole` was taken of. On an error the slot is empty.
  Status SetFullState(const FullState& whole, ByteSpan bytes);
  // Later tokens that leave the grid, or branch off a run, form a run of this number.
  void BeginLineage(LineageId lineage) { next_lineage_ = lineage; }

  // Whether the last token belongs to an answer.
  bool ends_in_answer() const {
    return !provenance_.answers.empty() && provenance_.answers.back().end == tokens_.size();
  }

  // Computes `tokens`, part of a prompt, as one chunk; with `all_logits` after each token. On an
  // error of the engine the slot is empty.
  Status Prefill(TokenSpan tokens, bool all_logits = false);
  // As Prefill, for a medium, whose rows take the places of `tokens`.
  Status PrefillMedium(TokenSpan tokens, const EncodedPiece& piece);
  // Decodes one token that belonged to an answer before the slot was lost. Errors as in Prefill.
  Status DecodeAnswered(Token token);
  // Records that the engine has decoded one token of an answer at the slot's end.
  void AddDecoded(Token token);
  // Drops what the engine has decoded behind the tokens, the last `decoded` of which it decoded in
  // the same computation. `snapshot`: taken before those; empty where the engine needs none. On an
  // error the slot is empty.
  Status RollBack(size_t decoded, ByteSpan snapshot);
  // Records that the engine has lost the sequence.
  void Lose();
  // Returns how many of the first tokens are the same as at the last call.
  size_t TakeUnchanged() { return std::min(std::exchange(unchanged_, SIZE_MAX), tokens_.size()); }
  Result<Bytes> TakeSnapshot() { return engine_->TakeSnapshot(seq_); }
  Result<Bytes> TakeSegment(const SegmentGap& range) {
    return engine_->TakeSegment(seq_, range.begin, range.end);
  }
  Result<Bytes> TakeFullState() { return engine_->TakeFullState(seq_); }

 private:
  friend class SlotAssembly;
  friend Status PrefillTogether(Engine* engine, std::span<const SlotChunk> chunks);

  // The engine computes with the adapters of the slot's namespace from now on.
  Status UseAdapters();
  void CutTo(size_t position);
  void SetTokens(Tokens tokens);
  // Records that the engine has prefilled `tokens` at the slot's end.
  void AddPrefilled(TokenSpan tokens);
  // Records that the engine has decoded `tokens` at the slot's end as one chunk.
  void AddChunk(TokenSpan tokens);
  void AddTokens(TokenSpan tokens);
  // Records the provenance of a chunk whose tokens were added.
  void AddProvenance(const TokenRange& chunk);
  // Marks the token at `begin`, which is the last, as an answer's.
  void MarkAnswered(size_t begin);
  void CountCells() { ledger_->SetTokens(static_cast<size_t>(seq_), tokens_.size()); }

  Engine* const engine_;
  CellLedger* const ledger_;
  const SeqId seq_;
  const CutRules* const rules_;
  NamespaceId name_space_ = 0;
  Tokens tokens_;
  PromptCuts cuts_;  // of the tokens
  Provenance provenance_;
  size_t own_tokens_ = SIZE_MAX;  // SIZE_MAX: all
  size_t unchanged_ = 0;          // see TakeUnchanged; SIZE_MAX: all that there were
  LineageId next_lineage_ = 0;
  // The slot was truncated or restored to a position from which its last run may branch.
  bool forks_ = false;
  // The last chunk of a prompt, if it ends at no cut, and what was known before it. It ends at one
  // after all if a medium follows.
  struct UncutChunk {
    TokenRange range;
    Provenance provenance;
    bool forks = false;
  };
  std::optional<UncutChunk> uncut_;
};

// SlotAssembly: assembles the attention KV of a path of segments in a slot, except for the part
// that the slot holds already, at once or part by part (Engine::Assemble). From Begin to End the
// slot counts as empty and has the cells of the whole prefix; Clear ends it early. After an error
// the slot is empty.
class SlotAssembly {
 public:
  // `prefix`: the tokens held afterwards, with their provenance. The slot outlives it.
  SlotAssembly(Slot* slot, TokenSpan prefix, Provenance provenance)
      : slot_(slot), prefix_(prefix.begin(), prefix.end()), provenance_(std::move(provenance)) {}

  // `path` begins at 0. `shared`: how many of the tokens the slot holds now. `snapshot` is empty
  // where the model needs none.
  Status AtOnce(size_t shared, std::span<const SegmentPart> path, ByteSpan snapshot);
  // Returns how many parts of the path the slot holds: Add takes those behind them.
  size_t Begin(size_t shared, std::span<const SegmentPart> path);
  Status Add(const SegmentPart& part);
  Status End(ByteSpan snapshot);

 private:
  size_t PartsHeld(size_t shared, std::span<const SegmentPart> path) const;
  Status Done(Status assembled);

  Slot* slot_;
  Tokens prefix_;
  Provenance provenance_;
  size_t end_ = 0;  // of the parts so far
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_H_
