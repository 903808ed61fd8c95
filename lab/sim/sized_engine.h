// SizedEngine: an engine whose model is only sizes and speeds. It holds the lengths of sequences,
// refuses what its memory class and a full context refuse, claims the bytes of its states
// (lab/sim/sized_store.h), and advances a clock by the duration of each operation. Its answers are
// set by the caller.
//
// Threads: one.

#ifndef CAIRN_LAB_SIM_SIZED_ENGINE_H_
#define CAIRN_LAB_SIM_SIZED_ENGINE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "sched/slots/cell_ledger.h"

namespace cairn {

// ModelProfile: the sizes of a model's state and its speeds, with which a trace can be replayed
// without the model.
//
// The sizes follow from the model's published configuration, as each profile in the .cc derives:
//
//   snapshot   recurrent layers: heads * key size * value size * 4 bytes, and the convolution's
//              last columns; sliding windows: the window's KV of those layers
//   KV         attention layers: 2 * KV heads * head size * 2 bytes (f16) a token
//
// The speeds are those of one desktop. They only give the ratio of costs: a token prefilled against
// a byte moved. Both can be set on the command line.
struct ModelProfile {
  std::string_view name;
  std::string_view source;  // where the sizes come from
  MemoryClass memory_class = MemoryClass::kHybrid;
  size_t snapshot_bytes = 0;
  size_t kv_bytes_per_token = 0;
  size_t window_tokens = 0;
  size_t logits_bytes = 0;  // of one row
  double prefill_tokens_per_s = 0;
  double move_bytes_per_s = 0;  // between the context and RAM
  // Overhead of a stored segment beyond its KV: libllama's headers are next to nothing.
  size_t segment_bytes = 0;
};

std::span<const ModelProfile> ModelProfiles();
// kInvalidArgument: no such profile; the message lists the known ones.
Result<ModelProfile> FindModelProfile(std::string_view name);

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

#endif  // CAIRN_LAB_SIM_SIZED_ENGINE_H_
