#include "cmd/serve/served_draft.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/serve/base/cache_flags.h"
#include "engine/same_vocabulary.h"
#include "policy/eviction.h"
#include "policy/placement.h"

namespace cairn {
namespace {

// A conversation of this length has about one snapshot in use.
constexpr double kTokensPerSnapshot = 2048;
constexpr double kShareMin = 1.0 / 64;
constexpr double kShareMax = 0.5;

double BytesPerToken(const MemoryTraits& traits) {
  return static_cast<double>(traits.kv_bytes_per_token) +
         static_cast<double>(traits.snapshot_bytes) / kTokensPerSnapshot;
}

LlamaOptions DraftLlamaOptions(const ServeOptions& options, const LlamaOptions& of_model,
                               const Engine& model) {
  LlamaOptions llama;
  llama.model_path = options.draft_model_path;
  llama.gpu_layers = options.draft_gpu_layers;
  llama.fit = of_model.fit;
  llama.fit_target_mib = of_model.fit_target_mib;
  llama.rpc_workers = of_model.rpc_workers;
  llama.rpc_beyond_loopback = of_model.rpc_beyond_loopback;
  llama.split_mode = of_model.split_mode;
  llama.main_gpu = of_model.main_gpu;
  llama.use_mmap = of_model.use_mmap;
  llama.use_mlock = of_model.use_mlock;
  llama.repack = of_model.repack;
  llama.context_tokens = model.cells();
  llama.slots = model.slots();
  // Conversations that diverge share what they have in common, and exactness is not asked.
  llama.unified = true;
  llama.batch_tokens = of_model.batch_tokens;
  llama.ubatch_tokens = of_model.ubatch_tokens;
  llama.threads = options.draft_threads < 0 ? of_model.threads : options.draft_threads;
  llama.threads_batch = options.draft_threads < 0 ? of_model.threads_batch : options.draft_threads;
  llama.flash_attention = of_model.flash_attention;
  llama.cache_type_k = options.draft_cache_type_k;
  llama.cache_type_v = options.draft_cache_type_v;
  llama.kv_offload = of_model.kv_offload;
  llama.measure_grid = false;
  llama.may_sleep = of_model.may_sleep;
  llama.log = of_model.log;
  llama.notes = [notes = of_model.note_sink()](LogLevel level, std::string_view line) {
    if (notes) notes(level, "--model-draft: " + std::string(line));
  };
  return llama;
}

}  // namespace

size_t DraftRamBytes(const MemoryTraits& model, const MemoryTraits& draft, size_t ram_bytes) {
  if (ram_bytes == SIZE_MAX) return ram_bytes;
  const double of_draft = BytesPerToken(draft);
  const double share = of_draft / std::max(of_draft + BytesPerToken(model), 1.0);
  return static_cast<size_t>(static_cast<double>(ram_bytes) *
                             std::clamp(share, kShareMin, kShareMax));
}

Result<ServedDraft> LoadDraftModel(const ServeOptions& options, const LlamaOptions& of_model,
                                   const Engine& model, const ApiKeys& keys,
                                   DiskCallbacks callbacks) {
  ServedDraft draft;
  auto engine = LlamaEngine::Load(DraftLlamaOptions(options, of_model, model));
  if (!engine) return Fail(engine.error().code, "--model-draft: " + engine.error().message);
  draft.engine = std::move(*engine);
  if (const Status same = CheckSameVocabulary(model, *draft.engine); !same) {
    return Fail(same.error().code, "--model-draft: " + same.error().message);
  }
  ServeOptions own = options;
  own.slot_save_path.clear();
  auto disk =
      OpenDiskCache(own, keys, draft.engine.get(), ReuseMode::kAny, {1}, std::move(callbacks));
  if (!disk) return tl::unexpected(disk.error());
  draft.disk = std::move(*disk);
  CacheOptions cache = ToCacheOptions(options);
  cache.ram_bytes_max = DraftRamBytes(model.traits(), draft.engine->traits(), cache.ram_bytes_max);
  draft.cache = std::make_unique<CheckpointCache>(
      cache, *MakePlacement("none"), *MakeEviction("value"), MakeStore(options, draft.disk));
  draft.cache->SetSavedAs(draft.disk.saved_as);
  if (draft.disk.outlives()) draft.first_lineage = RandomLineage();
  return draft;
}

}  // namespace cairn
