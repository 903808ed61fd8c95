// LlamaSequences: decodes tokens of sequences, and returns sequences to earlier positions: by
// truncation where the memory allows it, else by a snapshot.
//
// Threads: the one that owns the context. Functions named in Engine behave as described there.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEQUENCES_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEQUENCES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "engine/engine.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/state/window_order.h"

namespace cairn {

class LlamaSequences {
 public:
  // Size of our prefix to libllama's bytes in a snapshot: its kind, position and length.
  static constexpr size_t kSnapshotHeaderBytes = 24;

  // Both must outlive this object. `vocab_size`: floats in a row of logits.
  LlamaSequences(const LoadedModel* loaded, const MemoryTraits* traits, size_t vocab_size)
      : loaded_(loaded), traits_(traits), vocab_size_(vocab_size), window_(loaded) {}

  // `on_change` is called before any function below changes a sequence.
  void NotifyOfChanges(std::function<void(SeqId)> on_change) { on_change_ = std::move(on_change); }

  Status Decode(SeqId seq, size_t position, TokenSpan tokens);
  Status DecodeEach(std::span<const NextToken> tokens);
  // `tokens`: of one chunk after the other.
  Status DecodeChunks(std::span<const NextToken> tokens, ChunkLogits logits);
  Status DecodeMedium(SeqId seq, size_t position, const EncodedPiece& piece);
  // `index`: a token of the last DecodeEach or DecodeChunks; -1: the last token of the last decode.
  std::span<const float> LogitsAt(int32_t index) const;

  Result<Bytes> TakeSnapshot(SeqId seq);
  Status Restore(SeqId seq, size_t position, ByteSpan snapshot);
  // Returns libllama's bytes in a snapshot. kCorrupt unless it is whole and was taken at
  // `position`.
  static Result<ByteSpan> PartialStateIn(ByteSpan snapshot, size_t position);
  // Called after a state of `seq` was set that no function of this class set.
  void OnRestored(SeqId seq) { window_.OnRestored(seq); }
  bool CanTruncate(SeqId seq, size_t position) const;
  Status Truncate(SeqId seq, size_t position);
  Status RollBack(SeqId seq, size_t position);
  // The value of MemoryTraits::rollback_tokens.
  size_t RollbackTokens() const;
  void Clear(SeqId seq);
  // Clears all sequences, including the scratch sequence.
  void ClearAll();
  // Called after the model was unloaded.
  void OnUnloaded();

  // Whether libllama can move attention KV to other positions, so that Drop may be called. It
  // rotates the keys by the distance when it next decodes.
  bool MayShift(std::string_view architecture) const;
  Status Drop(SeqId seq, size_t begin, size_t end);

  // Keeps the window's cells in order from now on.
  void KeepWindowInOrder() { window_.Enable(); }

 private:
  enum class Batch : uint8_t {
    kChunks,        // each of one sequence; the last token of each has logits
    kScoredChunks,  // likewise; each token has logits
    kSingleTokens,  // the next tokens of several sequences; each has logits
  };
  Status DecodeBatch(std::span<const NextToken> tokens, Batch kind);
  // Decodes the rows [begin, begin + rows) of a medium whose first position is `first`.
  int32_t DecodeRows(SeqId seq, llama_pos first, const EncodedPiece& piece, const TokenRange& rows);
  // Makes the sequences empty. Returns the error of a decode that failed.
  tl::unexpected<Error> FailDecode(std::span<const SeqId> seqs, const std::string& why);

  // Whether all rows are there that a token at `position` attends to. Without a window they are.
  // With one that is kept whole (--swa-full) they are, unless the sequence was restored: libllama
  // writes only the rows that the last token attends to.
  bool HoldsRowsBefore(SeqId seq, size_t position) const;

  void Changes(SeqId seq) const {
    if (on_change_) on_change_(seq);
  }
  void ChangesAll() const;

  const LoadedModel* const loaded_;
  const MemoryTraits* const traits_;
  const size_t vocab_size_;
  std::function<void(SeqId)> on_change_;
  WindowOrder window_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_SEQUENCES_H_
