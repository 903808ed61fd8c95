// The flags of `cairn serve` for speculative decoding.

#ifndef CAIRN_CMD_SERVE_DRAFT_FLAGS_H_
#define CAIRN_CMD_SERVE_DRAFT_FLAGS_H_

#include <cstddef>
#include <memory>

#include "base/provenance.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "engine/engine.h"
#include "engine/llama/llama_engine.h"
#include "http/keys.h"
#include "sched/draft/drafter.h"

namespace CLI {
class App;
}

namespace cairn {

// The draft model of `cairn serve` (--model-draft): its engine, and the tiers of its prefix cache.
// Its states lie in the same cache folder, under a fingerprint of their own, and within the same
// budgets.
struct ServedDraft {
  std::unique_ptr<LlamaEngine> engine;  // null without a draft model, as are the others
  DiskCache disk;
  std::unique_ptr<CheckpointCache> cache;
  LineageId first_lineage = 0;
};

// Loads the draft model and opens its cache. `of_model`: the options that `model` was loaded with.
// kInvalidArgument if its vocabulary is another. REQUIRES: there is a --model-draft.
Result<ServedDraft> LoadDraftModel(const ServeOptions& options, const LlamaOptions& of_model,
                                   const Engine& model, const ApiKeys& keys,
                                   DiskCallbacks callbacks);

// The part of --cache-ram that the draft model's cache gets: a conversation's states in both take
// the same tokens.
size_t DraftRamBytes(const MemoryTraits& model, const MemoryTraits& draft, size_t ram_bytes);

void AddDraftFlags(CLI::App* serve, ServeOptions* options);

// Returns LlamaOptions::rollback_states for the flags.
size_t RollbackStatesOf(const ServeOptions& options);
// Returns LlamaOptions::mtp for the flags.
LlamaOptions::Mtp MtpOf(const ServeOptions& options);

// kInvalidArgument if the flags do not fit one another.
Status CheckDraftFlags(const ServeOptions& options);

// Returns the options of the flags. `draft_model` must outlive the scheduler. With
// ReuseMode::kExact the engine is probed: kUnsupported if drafts would change bits, except with
// --spec-type auto, which then means none. REQUIRES: the model is loaded, and no other thread uses
// the engine.
Result<DraftOptions> MakeDraftOptions(const ServeOptions& options, ReuseMode reuse, Engine* engine,
                                      const ServedDraft& draft_model);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DRAFT_FLAGS_H_
