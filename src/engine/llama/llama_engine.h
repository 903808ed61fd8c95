// LlamaEngine: an Engine on libllama. Only src/engine/llama_*.cc include llama.h.

#ifndef CAIRN_ENGINE_LLAMA_LLAMA_ENGINE_H_
#define CAIRN_ENGINE_LLAMA_LLAMA_ENGINE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/llama_digest.h"
#include "engine/llama/llama_options.h"
#include "engine/llama/llama_pointers.h"
#include "engine/llama/state_facts.h"

struct llama_vocab;

namespace cairn {

class DrySamplers;
struct TokenTexts;

class LlamaEngine final : public Engine {
 public:
  // Bytes of a snapshot that are ours: what it is, of which position, and how long.
  static constexpr size_t kSnapshotHeaderBytes = 24;
  static constexpr size_t kWholeHeaderBytes = 24;  // the same of a whole state

  ~LlamaEngine() override;

  // Loads the model, makes its context and finds its traits. One clear sentence when it cannot.
  static Result<std::unique_ptr<LlamaEngine>> Load(const LlamaOptions& options);

  const ModelInfo& info() const override { return info_; }
  const MemoryTraits& traits() const override { return traits_; }
  size_t context_tokens() const override { return context_tokens_; }
  size_t slots() const override { return slots_; }
  size_t cells() const override;
  size_t chunk_tokens_max() const override { return chunk_tokens_max_; }
  Result<std::string> StateIdentity() const override;
  // All that the exactness grid hangs on: StateIdentity without the grid. Errors as that one's.
  Result<std::string> GridFacts() const;
  // For contexts beside the engine's own, which it outlives; null while it sleeps, after which it
  // is another.
  llama_model* model() const { return model_.get(); }

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
  Status Drop(SeqId seq, size_t begin, size_t end) override;
  Result<Bytes> TakeWhole(SeqId seq) override;
  Status SetWhole(SeqId seq, size_t position, ByteSpan whole) override;
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override;
  Status Sleep() override;
  Status Wake() override;

 private:
  // What sleeping unloads.
  struct Parts {
    LlamaModelPtr model;
    LlamaContextPtr context;
  };

  LlamaEngine(Parts parts, LlamaModelPtr vocabulary, const LlamaOptions& options);

  static Result<Parts> LoadParts(const LlamaOptions& options);
  // The same model without its weights.
  static Result<LlamaModelPtr> LoadVocabulary(const LlamaOptions& options);
  // REQUIRES: it does not sleep.
  llama_context* context() const;
  void ReadModelInfo(const LlamaOptions& options);
  // What MeasureTraits and ProveBits read, and where it is cut.
  static constexpr size_t kMoreTokens = 24;
  static constexpr size_t kFewTokens = 8;
  Tokens ProbeTokens() const;
  // Decodes a few tokens and measures what their state weighs.
  Status MeasureTraits(const LlamaOptions& options);
  // Reads `tokens` again, of which the last logits hashed to `bits`, and keeps that when it is so
  // again: what the model, the settings and the machine come to.
  Status ProveBits(TokenSpan tokens, uint64_t bits);
  uint64_t HashOfLogits() const;
  static std::string BitsText(uint64_t bits);
  Result<StateFacts> Facts() const;
  // Reads some 10 MB of the model's file, the first time since it was loaded.
  const Result<ModelDigest>& Digest() const;
  // After loading again: whether states from before may still be set.
  Status ProveTheSame();
  // False: no start before this one measured it. REQUIRES: proven_bits_ is set.
  Result<bool> FindKnownGrid(const LlamaOptions& options);
  Status MeasureGrid(const LlamaOptions& options);
  // Finds traits().segments and traits().whole_states with what the probe's sequence holds.
  void ProveTransport(const LogSink& log);
  size_t SequenceEnd(SeqId seq) const;
  std::shared_ptr<const TokenTexts> ReadTokenTexts() const;
  // After the slots: the sequence through which segments travel. Only where there are segments.
  SeqId scratch_seq() const { return static_cast<SeqId>(slots_); }
  // Why libllama refused bytes of `tokens` more tokens: they are wrong, or others hold the cells.
  // It does not say which, so where the cells may be short that is taken for the reason.
  ErrorCode WhyRefused(size_t tokens) const;
  // `each`: the tokens are of one sequence each, and each has logits. Otherwise all are of one, and
  // the last has.
  Status DecodeBatch(std::span<const NextToken> tokens, bool each);
  std::span<const float> LogitsAt(int32_t index) const;
  // What a window needs before and after a decode; see WindowCells.
  Status PrepareWindow(SeqId seq, bool single_token);
  void NoteInWindow(SeqId seq, bool single_token);
  Status ReadState(SeqId seq, std::span<const uint8_t> state);
  // Writes the state that cannot be rolled back to `bytes`, after `front` bytes left as they are.
  Status WriteState(SeqId seq, size_t front, Bytes* bytes) const;
  Status OrderWindow(SeqId seq);
  // Of segments, in llama_segments.cc; forks and whole states are in llama_slots.cc.
  Status WriteSegment(size_t begin, size_t end, Bytes* bytes);
  Status SetSegment(SeqId seq, const SegmentPart& part);
  Status KeepFront(SeqId seq, size_t keep);
  // Takes `seq` apart, joins it again and forks it; whether its state is the same to the byte.
  Status ProveSegments(SeqId seq);
  Status ProveFork(SeqId seq, ByteSpan whole, ByteSpan snapshot);
  // Writes all of `seq` to `bytes`, after `front` bytes left as they are.
  Status WriteWhole(SeqId seq, size_t front, Bytes* bytes) const;
  bool MayShift() const;  // traits().shifts, in llama_shift.cc
  // Takes all of `seq` out and sets it back; whether it is the same to the byte.
  Status ProveWholeStates(SeqId seq);

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

  const LlamaOptions options_;
  // Null while it sleeps.
  LlamaModelPtr model_;
  LlamaContextPtr context_;
  // A model of its own that stays while the other is away, so that any thread finds it at any time;
  // null where the engine never sleeps.
  const LlamaModelPtr vocabulary_;
  const llama_vocab* const vocab_;
  const size_t slots_;
  const bool unified_;  // see LlamaOptions
  const StateFacts option_facts_;
  ModelInfo info_;
  MemoryTraits traits_;
  size_t context_cells_ = 0;
  size_t context_tokens_ = 0;
  size_t chunk_tokens_max_ = 0;
  mutable std::optional<Result<ModelDigest>> digest_;  // see Digest
  std::string proven_bits_;                            // see ProveBits
  std::string identity_;  // StateIdentity as it was loaded, when it may sleep
  bool keeps_window_ = false;
  std::map<SeqId, WindowCells> window_cells_;  // of sequences in use, when keeps_window_
  Bytes window_bytes_;                         // OrderWindow's, kept for the next time
  // The state that cannot be rolled back, of a sequence that holds nothing; see llama_segments.cc.
  Bytes empty_partial_;
  const std::unique_ptr<DrySamplers> dry_samplers_;
  std::shared_ptr<const TokenTexts> texts_;  // read when a grammar first needs them
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_LLAMA_ENGINE_H_
