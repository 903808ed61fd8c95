// LlamaIdentity: everything that the bits of this engine's states depend on, as facts
// (state_facts.h), and the logits of a few tokens as their proof.
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
#include "engine/llama/model/llama_digest.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/state/llama_sequences.h"
#include "engine/llama/state/state_facts.h"

namespace cairn {

class LlamaIdentity {
 public:
  // Tokens of the probe, and those of its first chunk.
  static constexpr size_t kProbeTokens = 24;
  static constexpr size_t kFirstTokens = 8;
  static constexpr SeqId kProbeSeq = 0;

  // All outlive it.
  LlamaIdentity(const LlamaOptions& options, const LoadedModel* loaded, const ModelInfo* info,
                const MemoryTraits* traits, LlamaSequences* sequences)
      : loaded_(loaded),
        info_(info),
        traits_(traits),
        sequences_(sequences),
        option_facts_(FactsOf(options)) {}

  // See Engine::StateIdentity.
  Result<std::string> Text() const;
  // All that the exactness grid depends on: Text without the grid. Errors as that one's.
  Result<std::string> GridFacts() const;

  // Tokens from all over the vocabulary, so that they find many of a model's experts.
  Tokens ProbeTokens() const;
  // Of the logits of the last decode.
  uint64_t HashOfLogits() const;
  // What the probe's logits hashed to becomes a fact: what the model, the settings and the machine
  // come to. The other facts name causes that are known to move bits; this one finds a cause that
  // nobody thought of, as another driver, where a few tokens show it.
  void SetProvenBits(uint64_t hash);
  // Decodes the probe's tokens again, of which the last logits hashed to `hash`, and sets the fact:
  // the hash, or that it is not the same twice. Leaves the probe's sequence empty.
  Status ProveBits(TokenSpan tokens, uint64_t hash);
  // The model's file may be another one now.
  void ForgetDigest() { digest_.reset(); }

 private:
  Result<StateFacts> Facts() const;
  // Reads some 10 MB of the model's file, the first time since it was loaded.
  const Result<ModelDigest>& Digest() const;

  const LoadedModel* const loaded_;
  const ModelInfo* const info_;
  const MemoryTraits* const traits_;
  LlamaSequences* const sequences_;
  const StateFacts option_facts_;
  mutable std::optional<Result<ModelDigest>> digest_;
  std::string proven_bits_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_LLAMA_IDENTITY_H_
