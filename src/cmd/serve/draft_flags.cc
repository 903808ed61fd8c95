#include "cmd/serve/draft_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "engine/batch_probe.h"

namespace cairn {

namespace {

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
