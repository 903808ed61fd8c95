// LlamaIdentity: everything that the bits of this engine's states depend on, as facts
// (state_facts.h), plus the logits of a few tokens as evidence.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_LLAMA_STATE_LLAMA_IDENTITY_H_
#define CAIRN_ENGINE_LLAMA_STATE_LLAMA_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/tokens.h"
#include "engine/engine.h"
#include "engine/llama/gguf/llama_digest.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/state/llama_sequences.h"
#include "engine/llama/state/state_facts.h"

namespace cairn {

class LlamaIdentity {
 public:
  // The number of tokens of the probe, and of its first chunk.
  static constexpr size_t kProbeTokens = kUbatchTokensMin;
  static constexpr size_t kFirstTokens = 8;
  static constexpr SeqId kProbeSeq = 0;

  // All must outlive this object.
  LlamaIdentity(const LlamaOptions& options, const LoadedModel* loaded, const ModelInfo* info,
                const MemoryTraits* traits, LlamaSequences* sequences)
      : loaded_(loaded),
        info_(info),
        traits_(traits),
        sequences_(sequences),
        option_facts_(FactsOf(options)) {}

  // See Engine::StateIdentity.
  Result<std::string> Text() const;
  // Everything that the exactness grid depends on: Text without the grid. Errors as in Text.
  Result<std::string> GridFacts() const;

  // Returns tokens from all over the vocabulary, so that they reach many of a model's experts;
  // fewer than `asked` if the context has room for fewer.
  Tokens ProbeTokens(size_t asked = kProbeTokens) const;
  // Returns a hash of the logits of the last decode.
  uint64_t HashOfLogits() const;
  // Decodes the probe's tokens in its two chunks and returns the hash of the last logits. Leaves
  // the probe's sequence empty.
  Result<uint64_t> DecodeProbe(TokenSpan tokens);
  // Adds the hash of the probe's logits as a fact: the combined effect of model, settings and
  // machine. The other facts name causes that are known to change bits; this one detects unknown
  // causes, such as another driver, if a few tokens show them.
  void SetProvenBits(uint64_t hash);
  // Sets the fact: the hash `hash` of the probe's last logits, or that two runs differ. The second
  // run is only made where a device other than the CPU computes (traits.on_device), for ggml's CPU
  // kernels add in an order that only their input decides; it takes a tenth of a small model's
  // start. Leaves the probe's sequence empty.
  Status ProveBits(TokenSpan tokens, uint64_t hash);
  // The same of a chunk of full size (proof/device_proof.h), where a device other than the CPU
  // computes: its kernels are chosen by the size of a chunk. `hash`, `again`: of two runs.
  void SetProvenChunk(uint64_t hash, uint64_t again);
  // Called when the model's file may have changed.
  void ForgetDigest() { digest_.reset(); }

 private:
  Result<StateFacts> Facts() const;
  // Reads some 10 MB of the model's file when first called after a load.
  const Result<ModelDigest>& Digest() const;

  const LoadedModel* const loaded_;
  const ModelInfo* const info_;
  const MemoryTraits* const traits_;
  LlamaSequences* const sequences_;
  const StateFacts option_facts_;
  mutable std::optional<Result<ModelDigest>> digest_;
  std::string proven_bits_;
  std::string proven_chunk_;  // empty where only the CPU computes
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_IDENTITY_H_
