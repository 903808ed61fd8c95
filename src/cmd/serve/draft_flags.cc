#include "cmd/serve/draft_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/serve/base/cache_flags.h"
#include "engine/batch_probe.h"
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

constexpr const char* kDraftGroup = "Speculative decoding";

void AddDraftModelFlags(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("--spec-draft-model,--model-draft", options->draft_model_path,
                   "GGUF file of a draft model of the same family (-md); implies --spec-type "
                   "draft-simple")
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-p-min,--draft-p-min", options->draft_p_min,
                   "A draft ends at a token that the draft model, or the model's heads, give less "
                   "than this probability")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0))
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-ngl,--gpu-layers-draft", options->draft_gpu_layers,
                   "Number of layers of the draft model to keep on the GPU (-ngld): auto, all, or "
                   "a number (negative: all)")
      ->transform([](const std::string& text) {
        return text == "auto" || text == "all" ? std::string("-1") : text;
      })
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-threads,--threads-draft", options->draft_threads,
                   "Number of threads for the draft model (-td; -1: as --threads)")
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-type-k,--cache-type-k-draft", options->draft_cache_type_k,
                   "Data type of K in the draft model's KV cache (-ctkd)")
      ->capture_default_str()
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-type-v,--cache-type-v-draft", options->draft_cache_type_v,
                   "Data type of V in the draft model's KV cache (-ctvd)")
      ->capture_default_str()
      ->group(kDraftGroup);
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

void AddDraftFlags(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_option("--spec-type", options->spec_type,
                   "Draft tokens and verify several in one decode, separated by commas: ngram "
                   "looks the last tokens up in the conversation, in an earlier answer to the same "
                   "prompt and in other conversations; draft-mtp asks the model's own heads for "
                   "multi-token prediction; draft-simple asks a draft model; auto uses all that "
                   "there are; none")
      ->capture_default_str()
      ->check([](const std::string& names) {
        const auto kinds = ParseDraftKinds(names);
        return kinds ? std::string() : kinds.error().message;
      })
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-n-max,--draft-max,--draft", options->draft_tokens_max,
                   "Maximum tokens of a draft; they are fewer where measurements say so")
      ->capture_default_str()
      ->check(CLI::Range(1, 64))
      ->group(kDraftGroup);
  serve
      ->add_option("--spec-draft-n-min,--draft-min", options->draft_tokens_min,
                   "Minimum tokens of a draft; shorter ones are not verified")
      ->capture_default_str()
      ->check(CLI::Range(0, 64))
      ->group(kDraftGroup);
  AddDraftModelFlags(serve, options);
}

size_t RollbackStatesOf(const ServeOptions& options) {
  // Each takes as much memory as the recurrent states of all slots; longer drafts take a snapshot.
  constexpr size_t kMost = 8;
  constexpr size_t kMostUnasked = 4;
  const auto kinds = ParseDraftKinds(options.spec_type);
  const bool drafts = kinds && (kinds->ngram || kinds->mtp || !options.draft_model_path.empty());
  if (!drafts) return 0;
  return std::min(options.draft_tokens_max, kinds->automatic ? kMostUnasked : kMost);
}

LlamaOptions::Mtp MtpOf(const ServeOptions& options) {
  const auto kinds = ParseDraftKinds(options.spec_type);
  if (!kinds || !kinds->mtp) return LlamaOptions::Mtp::kOff;
  if (!kinds->automatic) return LlamaOptions::Mtp::kOn;
  // Heads make a prefill a little longer, and what the probe of the start will say is not known.
  return options.reuse == "exact" ? LlamaOptions::Mtp::kOff : LlamaOptions::Mtp::kIfTried;
}

Status CheckDraftFlags(const ServeOptions& options) {
  const auto kinds = ParseDraftKinds(options.spec_type);
  if (!kinds) return tl::unexpected(kinds.error());
  if (kinds->draft_model && options.draft_model_path.empty() &&
      options.source.draft_hub_name.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--spec-type draft-simple needs a draft model; give one with --model-draft");
  }
  return {};
}

Result<DraftOptions> MakeDraftOptions(const ServeOptions& options, ReuseMode reuse, Engine* engine,
                                      const ServedDraft& draft_model) {
  const auto kinds = ParseDraftKinds(options.spec_type);
  if (!kinds) return tl::unexpected(kinds.error());
  DraftOptions drafts;
  if (kinds->ngram) drafts.make = &MakeNgramDrafter;
  drafts.mtp = kinds->mtp && engine->mtp_heads() != nullptr;
  drafts.mtp_p_min = options.draft_p_min;
  drafts.model.engine = draft_model.engine.get();
  drafts.model.cache = draft_model.cache.get();
  drafts.model.p_min = options.draft_p_min;
  drafts.model.first_lineage = draft_model.first_lineage;
  drafts.tokens_max = std::min(options.draft_tokens_max, engine->chunk_tokens_max() / 2);
  drafts.tokens_min = options.draft_tokens_min;
  if (!drafts.on() || reuse != ReuseMode::kExact) return drafts;
  const auto differs = FindBatchDifference(engine, drafts.tokens_max + 1);
  if (!differs) return tl::unexpected(differs.error());
  if (*differs > 0 && kinds->automatic && draft_model.engine == nullptr) return DraftOptions();
  if (*differs > 0) {
    return Fail(ErrorCode::kUnsupported,
                "speculative decoding with --reuse exact: decoding " + std::to_string(*differs) +
                    " tokens together changes bits of this model's logits on this backend, so "
                    "drafts would change answers; use --reuse live, or leave --spec-type and "
                    "--model-draft out");
  }
  drafts.in_exact = true;
  return drafts;
}

}  // namespace cairn
