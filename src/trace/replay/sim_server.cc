#include "trace/replay/sim_server.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

constexpr double kTenThousand = 10000;
constexpr double kSaveIntervalMs = 250;
constexpr double kDiskWaitMs = 10;

double Share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

// A placement policy that leaves out checkpoints of some classes.
class WithoutClasses final : public PlacementPolicy {
 public:
  WithoutClasses(std::unique_ptr<PlacementPolicy> policy, std::vector<CheckpointClass> without)
      : policy_(std::move(policy)), without_(std::move(without)) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    policy_->Place(input, placements);
    std::erase_if(*placements, [this](const Placement& placement) {
      return std::find(without_.begin(), without_.end(), placement.checkpoint_class) !=
             without_.end();
    });
  }
  void Learn(const Divergence& divergence) override { policy_->Learn(divergence); }

 private:
  const std::unique_ptr<PlacementPolicy> policy_;
  const std::vector<CheckpointClass> without_;
};

// Whether slots or cache may resume at the checkpoint, which lies on the prompt's path, as
// ChooseResume decides it.
bool MayResumeAt(const Checkpoint& checkpoint, ReuseMode mode, size_t prompt_tokens) {
  if (mode == ReuseMode::kExact && !checkpoint.on_grid() && !checkpoint.cold_end) return false;
  if (checkpoint.position == prompt_tokens) return checkpoint.logits_bytes > 0;
  if (mode == ReuseMode::kAny || checkpoint.position % kUsualGridTokens == 0) return true;
  return mode == ReuseMode::kLive && (checkpoint.checkpoint_class == CheckpointClass::kReply ||
                                      checkpoint.checkpoint_class == CheckpointClass::kBranch);
}

}  // namespace

SimServer::SimServer(const SimOptions& options, size_t context_tokens, LineageId first_lineage,
                     std::unique_ptr<PlacementPolicy> placement,
                     std::unique_ptr<EvictionPolicy> eviction)
    : options_(options),
      engine_({options.profile, context_tokens, options.slots, options.chunk_tokens_max}, &clock_),
      disk_(options.disk, &clock_),
      prefill_ms_per_token_(kMsPerS / options.profile.prefill_tokens_per_s),
      cache_(options.cache, std::move(placement), std::move(eviction),
             std::make_unique<SizedStore>(options.profile.logits_bytes, &disk_)),
      scheduler_(&engine_, &cache_, &clock_,
                 SchedulerOptions{.reuse = options.reuse,
                                  .slots = {.keep_ends = options.keep_ends,
                                            .offload = options.offload,
                                            .first_lineage = first_lineage}}) {
  cache_.SetSavedAs({{}, {{NamespaceId{0}, 1}}});
}

Result<std::unique_ptr<SimServer>> SimServer::Make(const SimOptions& options, size_t context_tokens,
                                                   LineageId first_lineage) {
  auto placement = MakePlacement(options.placement, options.intervals);
  if (!placement) return tl::unexpected(placement.error());
  auto eviction = MakeEviction(options.eviction);
  if (!eviction) return tl::unexpected(eviction.error());
  if (!options.without.empty()) {
    placement = std::make_unique<WithoutClasses>(std::move(*placement), options.without);
  }
  return std::unique_ptr<SimServer>(new SimServer(options, context_tokens, first_lineage,
                                                  std::move(*placement), std::move(*eviction)));
}

SimServer::Served SimServer::Serve(const TraceRequest& asked, double at_ms, Tokens prompt,
                                   Tokens answer) {
  clock_.Advance(std::max(0.0, at_ms - clock_.NowMs()));
  Served served;
  served.began_ms = served.done_ms = clock_.NowMs();
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.shape = asked.shape;
  request.reuse = asked.reuse;
  request.params.tokens_max = 0;
  if (options_.answers) {
    engine_.SetAnswer(std::move(answer));
    // An end token counts as one more token.
    if (!asked.token_ids.empty() && !asked.cancelled_at) {
      request.params.tokens_max = asked.output_tokens + (asked.ended_by_model ? 1 : 0);
    }
  }
  ++report_.requests;
  auto generation = scheduler_.Submit(std::move(request));
  if (!generation) {
    ++report_.refused;
    served.refused = true;
    return served;
  }
  Play(asked, generation->get(), &served);
  Save();
  report_.held_bytes_max = std::max(report_.held_bytes_max, cache_.stats().bytes);
  served.done_ms = clock_.NowMs();
  return served;
}

SimReport SimServer::Finish() {
  const SchedulerStats stats = scheduler_.stats();
  report_.checkpoints_taken = stats.slot_counters.checkpoints_taken;
  report_.checkpoints_evicted = stats.cache.evicted;
  report_.restored = stats.slot_counters.checkpoints_restored + stats.slot_counters.assembled;
  report_.forked = stats.slot_counters.forked;
  report_.offloaded = stats.slot_counters.offloaded;
  report_.taken_bytes = engine_.moved().taken_bytes;
  report_.restored_bytes = engine_.moved().restored_bytes;
  report_.disk_written_bytes = disk_.moved().written_bytes;
  report_.disk_read_bytes = disk_.moved().read_bytes;
  report_.disk_evicted = disk_.moved().evicted;
  return std::move(report_);
}

void SimServer::Play(const TraceRequest& asked, Generation* generation, Served* served) {
  if (asked.cancelled_at == size_t{0}) generation->Cancel();
  bool more = true;
  bool ended = false;
  while (more || !ended) {
    more = scheduler_.Step();
    // The request waits for the disk.
    if (!more && !ended) clock_.Advance(kDiskWaitMs);
    SaveWhileBusy();
    while (const auto event = generation->Next(std::chrono::milliseconds(0))) {
      CHECK(event->kind != GenerationEvent::Kind::kFailed);
      if (asked.cancelled_at && event->processed_tokens >= *asked.cancelled_at) {
        generation->Cancel();
      }
      if (event->kind != GenerationEvent::Kind::kDone) continue;
      ended = true;
      served->reused_tokens = event->cost.reused_tokens;
      Count(asked, event->cost);
    }
  }
}

// As in the scheduler's loop: one save at a time between steps of work …
void SimServer::SaveWhileBusy() {
  if (!cache_.saves() || clock_.NowMs() - saved_ms_ < kSaveIntervalMs) return;
  saved_ms_ = clock_.NowMs();
  cache_.TakeEvents();
  cache_.SaveNext(prefill_ms_per_token_);
}

// … and all saves that are worth it when the scheduler is idle.
void SimServer::Save() {
  if (!cache_.saves()) return;
  bool began = true;
  while (began) {
    cache_.TakeEvents();
    began = cache_.SaveNext(prefill_ms_per_token_).began;
  }
}

void SimServer::SaveUnused(double now_ms) {
  if (!cache_.saves() || clock_.NowMs() > now_ms) return;
  clock_.Advance(now_ms - clock_.NowMs());
  while (scheduler_.SaveNext(false)) {
  }
}

void SimServer::Count(const TraceRequest& asked, const GenerationCost& cost) {
  report_.prompt_tokens += cost.prompt_tokens;
  report_.reused_tokens += cost.reused_tokens;
  report_.wait_ms.push_back(cost.queue_ms + cost.prompt_ms);
  report_.reused_each.push_back(cost.reused_tokens);
  if (!asked.reused_tokens) return;
  ++report_.served_requests;
  report_.served_reused_tokens += *asked.reused_tokens;
}

size_t SimServer::ReachOf(TokenSpan prompt) {
  const MemoryTraits& traits = engine_.traits();
  const size_t last = prompt.size() - 1;
  const auto on_grid = [&](size_t tokens) {
    tokens = std::min(tokens, last);
    return options_.reuse == ReuseMode::kAny ? tokens : tokens - tokens % kUsualGridTokens;
  };
  size_t reach = 0;
  size_t in_slots = 0;
  for (const SlotsView::Held& slot : cache_.objects()->slots().held()) {
    const size_t shared = CommonPrefix(slot.tokens, prompt);
    in_slots = std::max(in_slots, shared);
    const bool goes_on = shared == slot.tokens.size() && shared <= last;
    if (goes_on && options_.reuse != ReuseMode::kExact) reach = std::max(reach, shared);
  }
  const CheckpointCache::MatchResult match = cache_.Match(NamespaceId{0}, prompt);
  for (const Checkpoint& checkpoint : match.checkpoints) {
    const bool has_kv = !traits.segments || checkpoint.kv_stored || checkpoint.position <= in_slots;
    if (has_kv && MayResumeAt(checkpoint, options_.reuse, prompt.size())) {
      reach = std::max(reach, checkpoint.position);
    }
  }
  if (traits.NeedsSnapshots()) return reach;
  return std::max(reach, on_grid(std::max(in_slots, match.stored_on_grid)));
}

size_t ContextTokens(const std::vector<TraceStep>& steps, const SimOptions& options) {
  if (options.context_tokens > 0) return options.context_tokens;
  size_t longest = 0;
  for (const TraceStep& step : steps) {
    longest = std::max(longest, step.request->input_tokens + step.request->output_tokens);
  }
  return longest + kUsualGridTokens;
}

double SimReport::token_hit_rate() const {
  return Share(static_cast<double>(reused_tokens), static_cast<double>(prompt_tokens));
}

double SimReport::best_hit_rate() const {
  return Share(static_cast<double>(shared_tokens), static_cast<double>(prompt_tokens));
}

double SimReport::checkpoints_per_10k_prompt() const {
  return kTenThousand *
         Share(static_cast<double>(checkpoints_taken), static_cast<double>(prompt_tokens));
}

double SimReport::checkpoints_per_10k_read() const {
  return kTenThousand *
         Share(static_cast<double>(checkpoints_taken), static_cast<double>(read_tokens()));
}

}  // namespace cairn
