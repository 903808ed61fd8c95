// LoadedModel: a model and its context as libllama loaded them, and the sizes of the context.
// Unload frees both; the sizes stay.
//
// Threads: the one that owns the context. For src/engine/ only: files that include it see
// libllama's types.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LOADED_MODEL_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LOADED_MODEL_H_

#include <llama.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embed/embedding_architectures.h"
#include "engine/engine.h"
#include "engine/llama/gguf/layer_places.h"
#include "engine/llama/heads/mtp_context.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/llama_pointers.h"
#include "engine/llama/model/media_positions.h"

namespace cairn {

class LoadedModel {
 public:
  // On failure the error is one clear sentence: kNotFound, kInvalidArgument (an adapter of another
  // model, too), kUnsupported (the model does not generate token by token, and is
  // no encoder that the caller takes), kNoSpace (no memory for the context).
  static Result<LoadedModel> Load(const LlamaOptions& asked, ModelKinds kinds);

  // nullptr after Unload.
  llama_model* model() const { return model_.get(); }
  bool is_loaded() const { return context_ != nullptr; }
  // REQUIRES: is_loaded().
  llama_context* context() const;
  llama_memory_t memory() const { return llama_get_memory(context()); }
  // The heads for multi-token prediction, if LlamaOptions asked for them and the model has some.
  const MtpContext& heads() const { return heads_; }
  void Unload();

  // Sequences [0, slots()) are the engine's; scratch_seq() is the next one, used to take and
  // assemble segments. With one stream per slot there is no scratch sequence.
  size_t slots() const { return slots_; }
  SeqId scratch_seq() const { return static_cast<SeqId>(slots_); }
  // Whether the attention KV of all slots lies in one buffer; see LlamaOptions.
  bool unified() const { return unified_; }
  // KV cells of the complete context.
  size_t context_cells() const { return context_cells_; }
  // The most tokens that one sequence may hold.
  size_t context_tokens() const { return context_tokens_; }
  size_t ubatch_tokens() const { return ubatch_tokens_; }
  // The devices of the layers, as far as libllama said them. They stay after Unload.
  const LayerPlaces& layer_places() const { return *layer_places_; }
  // The number of tokens that `seq` holds.
  size_t SequenceEnd(SeqId seq) const;
  // libllama's position of the token at index `tokens` of `seq`.
  llama_pos PositionAt(SeqId seq, size_t tokens) const {
    return static_cast<llama_pos>(media_positions_->At(seq, tokens));
  }
  // The adapters of the options, in their order; libllama frees them with the model.
  const std::vector<llama_adapter_lora*>& adapters() const { return adapters_; }
  // See ControlVectorFact. It stays after Unload.
  const std::string& control_fact() const { return control_fact_; }
  MediaPositions& media_positions() const { return *media_positions_; }

 private:
  LoadedModel(LlamaModelPtr model, LlamaContextPtr context,
              std::shared_ptr<const LayerPlaces> layer_places, const LlamaOptions& options);

  // Makes the context of the heads; without one the model is used all the same.
  void AddHeads(const LlamaOptions& options, const llama_context_params& params);

  LlamaModelPtr model_;
  LlamaContextPtr context_;
  MtpContext heads_;
  std::vector<llama_adapter_lora*> adapters_;
  std::string control_fact_;
  std::shared_ptr<const LayerPlaces> layer_places_;
  size_t slots_;
  bool unified_;
  size_t context_cells_;
  size_t context_tokens_;
  size_t ubatch_tokens_;
  std::unique_ptr<MediaPositions> media_positions_ = std::make_unique<MediaPositions>();
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LOADED_MODEL_H_
