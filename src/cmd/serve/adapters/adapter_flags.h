// The flags of `cairn serve` for LoRA adapters and control vectors, and the names of the adapters'
// states on disk.

#ifndef CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_FLAGS_H_
#define CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_FLAGS_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "engine/adapters/adapter_sets.h"
#include "engine/llama/model/llama_options.h"
#include "http/keys.h"

namespace CLI {
class App;
}

namespace cairn {

// Adds them in the group Model. `options` outlives `serve`.
void AddAdapterFlags(CLI::App* serve, AdapterOptions* options);

// Returns the files of the flags in the order of their numbers: those of --lora, then those of
// --lora-scaled. kInvalidArgument: a word is not of the form FILE:SCALE.
Result<std::vector<LlamaOptions::AdapterFile>> AdapterFilesOf(const AdapterOptions& options);

// Returns the control vectors of the flags. Errors likewise.
Result<std::vector<LlamaOptions::ControlFile>> ControlFilesOf(const AdapterOptions& options);

// Sets both in `llama`. REQUIRES: the two functions above return no error.
void FillAdapters(const AdapterOptions& options, LlamaOptions* llama);

// The namespaces whose states get a name on disk: those of the keys, and those of the keys and sets
// of adapters that requests have asked for. A name depends on the key, the contents of the adapters
// and their scales, so a set finds its own states again after a restart, and those of no other set.
//
// Thread-safe.
class AdapterNames {
 public:
  // Returns whether `name_space` was not known.
  bool Add(NamespaceId name_space);
  // Forgets the namespaces of sets that were freed. Returns whether any were since the last call.
  // `sets` is null if there are no adapters.
  bool ForgetFreed(const AdapterSets* sets);
  // `sets` is null if there are no adapters. Namespaces of sets that were freed have no name.
  std::vector<std::pair<NamespaceId, uint64_t>> NamesOf(const ApiKeys& keys,
                                                        const AdapterSets* sets) const;

 private:
  mutable Mutex mutex_;
  std::set<NamespaceId> used_ GUARDED_BY(mutex_);
  uint64_t freed_ GUARDED_BY(mutex_) = 0;  // of AdapterSets, at the last call of ForgetFreed
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_ADAPTERS_ADAPTER_FLAGS_H_
