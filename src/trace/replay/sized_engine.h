// SizedEngine: an engine whose model is only sizes and speeds. It holds the lengths of sequences,
// refuses what its memory class and a full context refuse, claims the bytes of its states
// (trace/replay/sized_store.h), and advances a clock by the duration of each operation. Its answers
// are set by the caller.
//
// Threads: one.

#ifndef CAIRN_TRACE_REPLAY_SIZED_ENGINE_H_
#define CAIRN_TRACE_REPLAY_SIZED_ENGINE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "sched/slots/cell_ledger.h"
#include "trace/replay/model_profile.h"

namespace cairn {

class SizedEngine final : public Engine {
 public:
  struct Options {
    ModelProfile profile;
    size_t context_tokens = 0;  // of one sequence, and of all together
    size_t slots = 1;
    size_t chunk_tokens_max = 512;
  };
  // Totals since the start.
  struct Moved {
    size_t taken_bytes = 0;     // out of the context
    size_t restored_bytes = 0;  // into the context
  };

  // `clock` outlives the engine.
  SizedEngine(const Options& options, ManualClock* clock);

  const Moved& moved() const { return moved_; }
  // Samplers made from now on sample these tokens, and then the end of the answer.
  void SetAnswer(Tokens answer) { answer_ = std::move(answer); }

  const ModelInfo& info() const override { return info_; }
  const MemoryTraits& traits() const override { return traits_; }
  size_t context_tokens() const override { return options_.context_tokens; }
  size_t slots() const override { return options_.slots; }
  size_t cells() const override { return options_.context_tokens; }
  size_t chunk_tokens_max() const override { return options_.chunk_tokens_max; }
  Result<std::string> StateIdentity() const override { return "model=" + info_.description + "\n"; }

  Result<Tokens> Tokenize(std::string_view text, bool add_special,
                          bool parse_special) const override;
  std::string Piece(Token token, bool special) const override;
  bool IsEndOfGeneration(Token token) const override;

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override;
  Status DecodeEach(std::span<const NextToken> tokens) override;
  std::span<const float> LogitsOf(size_t index) const override;
  Result<Bytes> TakeSnapshot(SeqId seq) override;
  Status Restore(SeqId seq, size_t position, ByteSpan snapshot) override;
  bool CanTruncate(SeqId seq, size_t position) const override;
  Status Truncate(SeqId seq, size_t position) override;
  void Clear(SeqId seq) override;
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override;
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot) override;
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) override;
  Result<Bytes> TakeFullState(SeqId seq) override;
  Status SetFullState(SeqId seq, size_t position, ByteSpan whole) override;
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override;

 private:
  struct Sequence {
    size_t end = 0;
    size_t window_begin = 0;  // first position that layers with a window still hold
  };

  Sequence& At(SeqId seq) { return sequences_[static_cast<size_t>(seq)]; }
  const Sequence& At(SeqId seq) const { return sequences_[static_cast<size_t>(seq)]; }
  size_t SnapshotBytesAt(size_t position) const;
  size_t WindowStart(size_t position) const;
  void SetTo(SeqId seq, size_t position);
  bool HasRoomFor(size_t tokens) const;
  Bytes Take(size_t bytes);
  void GiveBack(size_t bytes);

  const Options options_;
  ManualClock* const clock_;
  ModelInfo info_;
  MemoryTraits traits_;
  std::vector<Sequence> sequences_;
  CellLedger cells_;
  std::array<float, 1> logits_ = {};
  Tokens answer_;
  Moved moved_;
};

}  // namespace cairn

#endif  // CAIRN_TRACE_REPLAY_SIZED_ENGINE_H_
