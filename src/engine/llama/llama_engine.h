// LlamaEngine: an Engine on libllama. It holds one class for each concern and forwards calls to it:
//
//   LoadedModel           the model and its context, loaded or not
//   LlamaVocabulary       tokens and their texts
//   LlamaSequences        decode, truncate, snapshots, the order of a window's cells
//   LlamaSegments         attention KV of a range as bytes, forks; all sequences in one buffer
//   LlamaSplicedSegments  the same where each sequence has a stream of its own
//   LlamaMtp              heads for multi-token prediction, in step with the sequences
//   LlamaFullStates       a sequence's full state as bytes
//   LlamaIdentity         everything that the bits of states depend on
//   TraitsProbe           finds MemoryTraits at load
//
// Only src/engine/ includes llama.h.

#ifndef CAIRN_ENGINE_LLAMA_LLAMA_ENGINE_H_
#define CAIRN_ENGINE_LLAMA_LLAMA_ENGINE_H_

#include <memory>
#include <string>

#include "engine/embed/embedding_architectures.h"
#include "engine/engine.h"
#include "engine/llama/model/llama_options.h"

struct llama_model;

namespace cairn {

class LlamaEngine final : public Engine {
 public:
  ~LlamaEngine() override;

  // Loads the model, makes its context and finds its traits. On failure the error is one clear
  // sentence.
  //
  // An encoder has no sequences: none of the functions for them may be called.
  static Result<std::unique_ptr<LlamaEngine>> Load(const LlamaOptions& asked,
                                                   ModelKinds kinds = ModelKinds::kDecoders);

  const ModelInfo& info() const override;
  const MemoryTraits& traits() const override;
  size_t context_tokens() const override;
  size_t slots() const override;
  size_t cells() const override;
  size_t chunk_tokens_max() const override;
  Result<std::string> StateIdentity() const override;
  // See LlamaIdentity::GridFacts.
  Result<std::string> GridFacts() const;
  // For contexts besides the engine's own, which must not outlive the engine. nullptr while the
  // model is unloaded; after Wake it is another pointer.
  llama_model* model() const;

  Result<Tokens> Tokenize(std::string_view text, bool add_special,
                          bool parse_special) const override;
  std::string Piece(Token token, bool special) const override;
  bool IsEndOfGeneration(Token token) const override;

  Status Decode(SeqId seq, size_t position, TokenSpan tokens) override;
  Status DecodeEach(std::span<const NextToken> tokens) override;
  Status DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits) override;
  std::span<const float> LogitsOf(size_t index) const override;
  Result<Bytes> TakeSnapshot(SeqId seq) override;
  Status Restore(SeqId seq, size_t position, ByteSpan snapshot) override;
  bool CanTruncate(SeqId seq, size_t position) const override;
  Status Truncate(SeqId seq, size_t position) override;
  Status RollBack(SeqId seq, size_t position) override;
  void Clear(SeqId seq) override;
  Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) override;
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts, size_t position,
                  std::optional<ByteSpan> snapshot) override;
  Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) override;
  void ReleaseTaken() override;
  Status DecodeMedium(SeqId seq, size_t position, TokenSpan tokens,
                      const EncodedPiece& piece) override;
  void SetMedia(SeqId seq, TokenSpan tokens) override;
  Status Drop(SeqId seq, size_t begin, size_t end) override;
  Result<Bytes> TakeFullState(SeqId seq) override;
  Status SetFullState(SeqId seq, size_t position, ByteSpan state_bytes) override;
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override;
  MtpHeads* mtp_heads() override;
  AdapterSets* adapter_sets() const override;
  Status UseAdapters(AdapterSets::Number set) override;
  Status Sleep() override;
  Status Wake() override;

 private:
  struct Parts;

  explicit LlamaEngine(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_LLAMA_ENGINE_H_
