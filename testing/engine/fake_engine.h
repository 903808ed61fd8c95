// FakeEngine: a model whose state is a hash of all tokens so far and whose next token is a function
// of it. If wrong bytes are restored, two runs mixed, or a prompt cut off the grid, it answers
// differently: every cache bug shows without a GGUF.
//
// It follows the rules of each memory class and refuses what libllama would refuse. Tokens are
// bytes, then the three special tokens of ChatML.
//
// Its sensitivity to cuts: a token's contribution depends on the chunk it was evaluated in, unless
// that chunk began at a cut (tree/prompt_cuts.h) and holds the token's complete step of the grid,
// as on real backends.

#ifndef CAIRN_TESTING_ENGINE_FAKE_ENGINE_H_
#define CAIRN_TESTING_ENGINE_FAKE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace cairn {

struct FakeEngineOptions {
  MemoryClass memory_class = MemoryClass::kHybrid;
  size_t context_tokens = 1 << 20;
  size_t slots = 1;
  size_t cells = 0;  // 0: each slot has room for context_tokens
  size_t chunk_tokens_max = 512;
  size_t grid_tokens = 64;
  Tokens message_starts = {};       // the grid begins anew behind each
  size_t boundary_gap_divisor = 0;  // see CutRules
  size_t window_tokens = 96;        // of the sliding-window class
  bool segments = true;             // except for the recurrent class
  bool full_states = true;          // where there are no segments
  // For the attention class without segments: see engine/kept_window.h.
  size_t kept_window_tokens = 0;
  // false: a fork has cells of its own, and each slot has room for context_tokens; `cells` is 0.
  bool one_buffer = true;
  bool shifts = true;  // for the attention class only
  // The size of a recurrent state's snapshot. Eight bytes suffice; a real one is larger than the
  // attention KV of a thousand tokens, so tests of budgets use more.
  size_t recurrent_bytes = sizeof(uint64_t);
  size_t rollback_states = 0;  // of the recurrent classes: see LlamaOptions
  // One answer in this many ends at each token; 0: never.
  uint64_t end_one_in = 24;
  uint64_t letters = 26;  // that answers consist of; with fewer, drafts are right more often
  uint64_t seed = 1;
  size_t adapters = 0;  // LoRA adapters, none of which a start applies
  // Called with the number of tokens of each chunk, so that prefill can move a test's clock.
  std::function<void(size_t tokens)> on_chunk = {};
};

// A test may override the vocabulary.
class FakeEngine : public Engine {
 public:
  static constexpr Token kEndOfText = 256;
  static constexpr Token kMessageStart = 257;
  static constexpr Token kMessageEnd = 258;
  static constexpr size_t kVocabSize = 259;

  explicit FakeEngine(const FakeEngineOptions& options);

  const ModelInfo& info() const override { return info_; }
  const MemoryTraits& traits() const override { return traits_; }
  size_t context_tokens() const override { return options_.context_tokens; }
  size_t slots() const override { return options_.slots; }
  size_t cells() const override;
  size_t chunk_tokens_max() const override { return options_.chunk_tokens_max; }
  Result<std::string> StateIdentity() const override;

  Result<Tokens> Tokenize(std::string_view text, bool add_special,
                          bool parse_special) const override;
  std::string Piece(Token token, bool special) const override;
  bool IsEndOfGeneration(Token token) const override;

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override;
  Status DecodeEach(std::span<const NextToken> tokens) override;
  Status DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits) override;
  std::span<const float> LogitsOf(size_t index) const override {
    return index == kLastRow ? logits_.back() : logits_.at(index);
  }
  Result<Bytes> TakeSnapshot(SeqId seq) override;
  Status Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) override;
  bool CanTruncate(SeqId seq, size_t position) const override;
  Status Truncate(SeqId seq, size_t position) override;
  Status RollBack(SeqId seq, size_t position) override;
  void Clear(SeqId seq) override;
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override;
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot) override;
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) override;
  // The rows contribute what they hold.
  Status DecodeMedium(SeqId seq, size_t position, TokenSpan tokens,
                      const EncodedPiece& piece) override;
  // A moved token contributes a value that no token at any position does.
  Status Drop(SeqId seq, size_t begin, size_t end) override;
  Result<Bytes> TakeFullState(SeqId seq) override;
  Status SetFullState(SeqId seq, size_t position, ByteSpan whole) override;
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override;
  AdapterSets* adapter_sets() const override { return adapter_sets_.get(); }
  // The contribution of a token depends on the scales.
  Status UseAdapters(AdapterSets::Number set) override;
  Status Sleep() override;
  Status Wake() override;

  // Tokens decoded since the start, which a cache is meant to save.
  uint64_t decoded_tokens() const { return decoded_tokens_; }
  // How often tokens were decoded behind a state that was put together of two computations.
  uint64_t mixed_states() const { return mixed_states_; }
  // Bytes of all texts that were tokenized since the start.
  uint64_t tokenized_bytes() const { return *tokenized_bytes_; }
  // The next `count` Decodes fail as libllama may, leaving the sequence empty.
  void FailNextDecodes(int count) { failing_decodes_ = count; }
  // The next `count` snapshots and segments are refused when they are restored.
  void RefuseNextStates(int count) { refused_states_ = count; }
  // The next `count` Wakes fail.
  void FailNextWakes(int count) { failing_wakes_ = count; }
  bool asleep() const { return asleep_; }

 private:
  // One sequence. The members in use depend on the memory class.
  struct Sequence {
    // added[i]: the KV of token i; cells[i]: attention's result over added[0] to added[i]. Kept by
    // all but the recurrent class.
    std::vector<uint64_t> added;
    std::vector<uint64_t> cells;
    // The engine's cells that they occupy; a forked sequence occupies the same ones.
    std::vector<uint64_t> places;
    // window[i]: contribution of token i to the layers that keep a window; only indices at or after
    // window_begin are still there.
    std::vector<uint64_t> window;
    size_t window_begin = 0;
    // The first token all of whose KV is there; more than 0 only after a full state was set that
    // lacked some.
    size_t whole_begin = 0;
    // Where the last decode began, and where the window began then.
    size_t decode_begin = 0;
    size_t decode_window_begin = 0;
    uint64_t recurrent = 0;
    bool was_set = false;                    // a state was restored since the last decode
    std::vector<uint64_t> recurrent_before;  // each token of the last DecodeEach
    size_t end = 0;
  };

  // The highest bit of an `added`: a boundary; see GridOrigin.
  static constexpr uint64_t kBoundaryBit = uint64_t{1} << 63;

  bool has_cells() const { return options_.memory_class != MemoryClass::kRecurrent; }
  bool has_window() const { return options_.memory_class == MemoryClass::kSlidingWindow; }
  bool has_recurrent() const {
    return options_.memory_class == MemoryClass::kRecurrent ||
           options_.memory_class == MemoryClass::kHybrid;
  }
  // Whether the state that cannot be rolled back is the one that the cells lead to. It is not if it
  // comes from another computation of the same tokens.
  bool IsOfOneComputation(const Sequence& sequence) const;
  // The first position whose window contribution the token at `position` attends to.
  size_t WindowStart(size_t position) const {
    return position > options_.window_tokens ? position - options_.window_tokens : 0;
  }
  // CHECKs that the engine is loaded.
  Sequence& Of(SeqId seq);
  void AddCell(Sequence* sequence, uint64_t added);
  static void CutCells(Sequence* sequence, size_t position);
  bool HasRoomFor(size_t tokens) const;
  // Whether another sequence shares the cells of `seq` after `begin`.
  bool IsShared(SeqId seq, size_t begin) const;
  bool Refuses(SeqId seq);
  // Decodes a chunk. `each`: if not null, gets the logits after each token.
  Status DecodeChunk(SeqId seq, size_t position, TokenSpan tokens,
                     std::vector<std::vector<float>>* each);
  void Extend(Sequence* sequence, TokenSpan tokens,
              std::vector<std::vector<float>>* each = nullptr);
  // The logits after the sequence's first `end` tokens, whose last was just contributed.
  std::vector<float> LogitsBehind(Sequence* sequence, size_t end) const;
  // Adds what one token contributes. `origin`: from where the grid is counted after it.
  void Contribute(Sequence* sequence, uint64_t contribution, bool is_boundary, size_t origin);
  void EndChunk(Sequence* sequence, size_t tokens);
  // Whether `tokens` can be decoded at the end of `seq`.
  Status CheckRoom(SeqId seq, size_t position, size_t tokens);
  // The position from which the grid is counted at the sequence's end. It is a part of the state:
  // the highest bit of `added` marks the token before a boundary, and the lowest bits of
  // `recurrent` hold the position.
  size_t GridOrigin(const Sequence& sequence) const;
  uint64_t StateHash(const Sequence& sequence) const;
  std::vector<float> LogitsAt(uint64_t state) const;

  // Adds what the adapters change.
  uint64_t Adapted(uint64_t contribution) const;

  const FakeEngineOptions options_;
  std::shared_ptr<AdapterSets> adapter_sets_;  // null without adapters; copies share their numbers
  AdapterSets::Number adapters_in_use_ = 0;
  std::string adapters_digest_;  // of the set in use
  ModelInfo info_;
  MemoryTraits traits_;
  std::map<SeqId, Sequence> sequences_;
  std::vector<std::vector<float>> logits_;
  uint64_t last_place_ = 0;
  uint64_t decoded_tokens_ = 0;
  uint64_t mixed_states_ = 0;
  // Any thread may tokenize; copies share it.
  std::shared_ptr<std::atomic<uint64_t>> tokenized_bytes_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  int failing_decodes_ = 0;
  int refused_states_ = 0;
  int failing_wakes_ = 0;
  bool asleep_ = false;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_ENGINE_FAKE_ENGINE_H_
