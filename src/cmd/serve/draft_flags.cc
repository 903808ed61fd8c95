#include "cmd/serve/draft_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "engine/batch_probe.h"

namespace cairn {

void AddDraftFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Speculative decoding";
  serve
      ->add_option("--spec-type", options->spec_type,
                   "Draft tokens and verify several in one decode: ngram looks the last tokens up "
                   "in the conversation and in an earlier answer to the same prompt; none")
      ->capture_default_str()
      ->check([](const std::string& name) {
        const auto found = FindDrafter(name);
        return found ? std::string() : found.error().message;
      })
      ->group(group);
  serve
      ->add_option("--spec-draft-n-max,--draft-max,--draft", options->draft_tokens_max,
                   "Maximum tokens of a draft; they are fewer where measurements say so")
      ->capture_default_str()
      ->check(CLI::Range(1, 64))
      ->group(group);
  serve
      ->add_option("--spec-draft-n-min,--draft-min", options->draft_tokens_min,
                   "Minimum tokens of a draft; shorter ones are not verified")
      ->capture_default_str()
      ->check(CLI::Range(0, 64))
      ->group(group);
}

Result<DraftOptions> MakeDraftOptions(const ServeOptions& options, ReuseMode reuse,
                                      Engine* engine) {
  const auto make = FindDrafter(options.spec_type);
  if (!make) return tl::unexpected(make.error());
  DraftOptions drafts;
  drafts.make = *make;
  drafts.tokens_max = std::min(options.draft_tokens_max, engine->chunk_tokens_max() / 2);
  drafts.tokens_min = options.draft_tokens_min;
  if (drafts.make == nullptr || reuse != ReuseMode::kExact) return drafts;
  const auto differs = FindBatchDifference(engine, drafts.tokens_max + 1);
  if (!differs) return tl::unexpected(differs.error());
  if (*differs > 0) {
    return Fail(ErrorCode::kUnsupported,
                "--spec-type " + options.spec_type + " with --reuse exact: decoding " +
                    std::to_string(*differs) +
                    " tokens together changes bits of this model's logits on this backend, so "
                    "drafts would change answers; use --reuse live, or --spec-type none");
  }
  drafts.in_exact = true;
  return drafts;
}

}  // namespace cairn
