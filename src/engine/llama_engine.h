// LlamaEngine: an Engine on libllama. Only src/engine/llama_*.cc include llama.h.

#ifndef CAIRN_ENGINE_LLAMA_ENGINE_H_
#define CAIRN_ENGINE_LLAMA_ENGINE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/llama_options.h"
#include "engine/llama_pointers.h"

struct llama_vocab;

namespace cairn {

class LlamaEngine final : public Engine {
 public:
  // Sequences a context has: the slot's, and one through which segments travel.
  static constexpr SeqId kScratchSeq = 1;
  // Bytes of a snapshot that are ours: what it is, of which position, and how long.
  static constexpr size_t kSnapshotHeaderBytes = 24;

  // Loads the model, makes its context and finds its traits. One clear sentence when it cannot.
  static Result<std::unique_ptr<LlamaEngine>> Load(const LlamaOptions& options);

  const ModelInfo& info() const override { return info_; }
  const MemoryTraits& traits() const override { return traits_; }
  size_t context_tokens() const override { return context_tokens_; }
  size_t slots() const override { return 1; }
  size_t cells() const override { return context_tokens_; }
  size_t piece_tokens_max() const override { return piece_tokens_max_; }

  Result<Tokens> Tokenize(std::string_view text, bool add_special,
                          bool parse_special) const override;
  std::string Piece(Token token, bool special) const override;
  bool IsEndOfGeneration(Token token) const override;

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override;
  std::span<const float> Logits() const override;
  Status DecodeEach(std::span<const NextToken> tokens) override;
  std::span<const float> LogitsOf(size_t index) const override;
  Result<Bytes> TakeSnapshot(SeqId seq) override;
  Status Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) override;
  bool CanTruncate(SeqId seq, size_t position) const override;
  Status Truncate(SeqId seq, size_t position) override;
  void Clear(SeqId seq) override;
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override;
  Status Join(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
              ByteSpan snapshot) override;
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) override;
  Result<Bytes> TakeWhole(SeqId seq) override;
  Status SetWhole(SeqId seq, size_t position, ByteSpan whole) override;
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override;

 private:
  LlamaEngine(LlamaModelPtr model, LlamaContextPtr context, const LlamaOptions& options);

  void ReadModelInfo(const LlamaOptions& options);
  // Decodes a few tokens and measures what their state weighs.
  Status MeasureTraits(const LlamaOptions& options);
  Status MeasureGrid(const LlamaOptions& options);
  size_t SequenceEnd(SeqId seq) const;
  Status ReadState(SeqId seq, std::span<const uint8_t> state);
  // Writes the state that cannot be rolled back to `bytes`, after `front` bytes left as they are.
  Status WriteState(SeqId seq, size_t front, Bytes* bytes) const;
  Status OrderWindow(SeqId seq);
  // Of segments, in llama_segments.cc.
  Status WriteSegment(size_t begin, size_t end, Bytes* bytes);
  Status SetSegment(SeqId seq, const SegmentPart& part);
  Status KeepFront(SeqId seq, size_t keep);
  // Takes `seq` apart and joins it again; whether its state is the same to the byte.
  Status ProveSegments(SeqId seq);
  Result<Bytes> WholeState(SeqId seq) const;

  // A cache of a window reuses the cells of tokens that left it, so the order of its cells depends
  // on how the sequence came to its end, and with it the last bits of what attention sums up. So
  // the window is put in order, oldest token in the first cell, before each piece of a prompt: then
  // it depends on the position alone. See docs/decisions/0008-window-order.md.
  struct WindowCells {
    // Tokens decoded since the cells were in order. At most a micro-batch: they still are.
    size_t unordered_tokens = 0;
    // The last Decode was of one token, as in an answer, where ordering would cost too much.
    bool in_answer = false;
  };

  const LlamaModelPtr model_;
  const LlamaContextPtr context_;
  const llama_vocab* const vocab_;
  ModelInfo info_;
  MemoryTraits traits_;
  size_t context_tokens_ = 0;
  size_t piece_tokens_max_ = 0;
  bool keeps_window_ = false;
  std::map<SeqId, WindowCells> window_cells_;  // of sequences in use, when keeps_window_
  Bytes window_bytes_;                         // OrderWindow's, kept for the next time
  // The state that cannot be rolled back, of a sequence that holds nothing; see llama_segments.cc.
  Bytes empty_partial_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_ENGINE_H_
