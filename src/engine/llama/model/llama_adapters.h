// LlamaAdapters: the LoRA adapters of a loaded model, and the set of them that its context applies.
//
// Threads: that of the engine.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_ADAPTERS_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_ADAPTERS_H_

#include <memory>
#include <optional>

#include "base/result.h"
#include "engine/adapters/adapter_sets.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/loaded_model.h"

namespace cairn {

class LlamaAdapters {
 public:
  // `loaded` outlives this object.
  explicit LlamaAdapters(LoadedModel* loaded) : loaded_(loaded) {}

  // Describes the adapters of the options, which were loaded with the model. Errors are those of
  // reading their files.
  Status Describe(const LlamaOptions& options);
  // nullptr without adapters.
  AdapterSets* sets() const { return sets_.get(); }

  // Has the context apply the set. Does nothing if it does already, or without adapters. Errors as
  // for Engine::UseAdapters.
  Status Use(AdapterSets::Number set);
  // The model is unloaded, and its context with it.
  void OnUnloaded() { in_use_.reset(); }
  // After the model was loaded again: kUnavailable if a file is not the same any more.
  Status CheckFiles() const;

 private:
  LoadedModel* const loaded_;
  std::unique_ptr<AdapterSets> sets_;
  std::optional<AdapterSets::Number> in_use_;  // nullopt: none is applied
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_ADAPTERS_H_
