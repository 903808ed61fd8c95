#include "cmd/serve/serve_policies.h"

#include <string>
#include <utility>

#include "cache/resume.h"
#include "chat/spans/volatile_patterns.h"
#include "cmd/serve/adapters/adapter_flags.h"
#include "cmd/serve/answer_flags.h"
#include "cmd/serve/base/cache_flags.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/draft_flags.h"
#include "cmd/serve/media/served_media.h"
#include "cmd/serve/source/source_flags.h"
#include "engine/llama/backend/rpc_backend.h"

namespace cairn {
namespace {

Status SetVolatile(const ServeOptions& options, Policies* policies) {
  const std::string& values = options.volatile_text.values;
  const bool exact = policies->reuse == ReuseMode::kExact;
  const bool changes_values = !values.empty() && values != "off";
  if (exact && (changes_values || !options.volatile_text.pinned.empty())) {
    return Fail(ErrorCode::kInvalidArgument,
                (changes_values ? "--volatile " + values : std::string("--pin-volatile")) +
                    " makes prompts depend on earlier requests, which --reuse exact excludes; "
                    "remove one of them");
  }
  std::vector<std::string> pinned = options.volatile_text.pinned;
  if (values == "keep") pinned.emplace_back(kBuiltinVolatile);
  if (!pinned.empty()) {
    auto volatile_text = VolatileText::Make(std::move(pinned));
    if (!volatile_text) {
      return Fail(volatile_text.error().code, "--pin-volatile: " + volatile_text.error().message);
    }
    policies->volatile_text = std::move(*volatile_text);
  }
  if (TellsVolatileLate(options)) {
    policies->late_values = std::make_shared<LateValues>();
  }
  return {};
}

}  // namespace

Result<Policies> MakePolicies(const ServeOptions& options) {
  if (options.slots == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "--parallel 0 leaves no slot; expected 1 or more, or -1 for the default");
  }
  if (options.sleep_idle_s >= 0 && (options.embeddings || options.reranking)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--sleep-idle-seconds cannot be combined with --embeddings or --reranking; remove "
                "one of them");
  }
  if (options.reuse == "exact" && (options.cache_reuse > 0 || options.context_shift)) {
    return Fail(ErrorCode::kInvalidArgument,
                std::string(options.context_shift ? "--context-shift" : "--cache-reuse") +
                    " moves prefilled tokens, which changes their bits; it cannot be combined with "
                    "--reuse exact");
  }
  if (options.reuse == "exact" && options.kv_unified.value_or(false) && SlotsOf(options) > 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "--kv-unified lets slots change each other's last bits, which --reuse exact "
                "excludes; remove it, or give --parallel 1");
  }
  if (const auto workers = ParseRpcWorkers(options.llama.rpc_workers); !workers) {
    return tl::unexpected(workers.error());
  }
  if (Status good = CheckDraftFlags(options); !good) return tl::unexpected(good.error());
  if (Status good = CheckSourceFlags(options); !good) return tl::unexpected(good.error());
  if (const auto files = AdapterFilesOf(options.adapters); !files) {
    return tl::unexpected(files.error());
  }
  if (const auto files = ControlFilesOf(options.adapters); !files) {
    return tl::unexpected(files.error());
  }
  if (Status good = CheckMediaFlags(options.media); !good) return tl::unexpected(good.error());
  Policies policies;
  auto placement = MakePlacement(PlacementNames(options), ToPlacementOptions(options));
  if (!placement) return tl::unexpected(placement.error());
  policies.placement = std::move(*placement);
  auto eviction = MakeEviction(options.eviction);
  if (!eviction) return tl::unexpected(eviction.error());
  policies.eviction = std::move(*eviction);
  if (const auto pace = MakeAnswerPace(options.pace); !pace) return tl::unexpected(pace.error());
  const auto reuse = ParseReuseMode(options.reuse);
  if (!reuse) return tl::unexpected(reuse.error());
  policies.reuse = *reuse;
  if (const auto codec = CodecOf(options); !codec) return tl::unexpected(codec.error());
  const LlamaOptions& llama = options.llama;
  if (llama.grid_tokens > llama.ubatch_tokens) {
    return Fail(ErrorCode::kInvalidArgument,
                "--grid " + std::to_string(llama.grid_tokens) + " is more than --ubatch-size " +
                    std::to_string(llama.ubatch_tokens) +
                    ", so no chunk could be that long; raise --ubatch-size or lower --grid");
  }
  if (Status good = SetVolatile(options, &policies); !good) return tl::unexpected(good.error());
  return policies;
}

bool TellsVolatileLate(const ServeOptions& options) {
  const std::string& values = options.volatile_text.values;
  return values == "late" || (values.empty() && options.reuse != "exact");
}

bool KeepsCheckpoints(const ServeOptions& options) {
  return PlacementNames(options) != "none" && StoresCheckpoints(options);
}

SchedulerOptions ToSchedulerOptions(const ServeOptions& options, ReuseMode reuse) {
  SchedulerOptions scheduler;
  scheduler.reuse = reuse;
  scheduler.queue_limit = options.queue_limit;
  scheduler.pace = options.pace;
  scheduler.request_ms_max = options.request_timeout_s * 1000;
  scheduler.prefetch.tokens_per_minute = options.prefetch_budget;
  scheduler.warm_start = options.warm;
  scheduler.slots.unused_ms = options.save_after_ms;
  if (options.sleep_idle_s >= 0) {
    scheduler.sleep_after_ms = static_cast<double>(options.sleep_idle_s) * 1000;
  }
  scheduler.slots.move_tokens_min = options.cache_reuse;
  if (options.cache_idle_slots) scheduler.slots.beside_tokens_max = kBesideTokens;
  scheduler.context_shift = options.context_shift;
  scheduler.slots.keep_ends = scheduler.slots.offload = KeepsCheckpoints(options);
  return scheduler;
}

ChatServiceOptions ToServiceOptions(const ServeOptions& options, const Policies& policies) {
  ChatServiceOptions service;
  service.prompt.canonical.keep_billing_header = options.keep_billing_header;
  service.prompt.volatile_text = policies.volatile_text;
  service.prompt.late_values = policies.late_values;
  service.prompt.prefill_assistant = options.prefill_assistant;
  service.prompt.cuts_overflow = options.context_overflow == "truncate";
  service.prompt.reasoning_effort = options.reasoning == "off" ? "none" : options.reasoning_effort;
  service.prompt.template_kwargs_json = TemplateKwargsOf(options);
  service.shown_reasoning =
      ParseShownReasoning(options.reasoning_format).value_or(ShownReasoning::kApart);
  service.parses_answers = !options.skip_chat_parsing;
  service.verbose = options.verbose;
  service.schema_strict = options.schema_strict;
  // With --reuse exact, a conversation's prompt must not depend on earlier requests.
  if (policies.reuse == ReuseMode::kExact) {
    service.answer_bytes_max = 0;
    service.prompt.tool_lists_max = 0;
    service.prompt.known_tool_bytes_max = 0;
    service.prompt.known_call_bytes_max = 0;
  }
  return service;
}

}  // namespace cairn
