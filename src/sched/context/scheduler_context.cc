#include "sched/context/scheduler_context.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {
namespace {

// A disk that works answers within this time, however short the prefill.
constexpr double kDiskWaitMsMin = 2'000;

SlotPoolOptions PoolOptions(const SchedulerOptions& options, const CutRules& cuts) {
  SlotPoolOptions pool{options.slots};
  pool.mode = options.reuse;
  pool.cuts = cuts;
  pool.leave_grid = options.leave_grid && options.reuse == ReuseMode::kLive;
  pool.trace = options.trace;
  return pool;
}

}  // namespace

size_t BoundaryGapDivisor(const MemoryTraits& traits, ReuseMode reuse) {
  // Where `live` can truncate the memory at any token, an edit does not go back to a boundary.
  constexpr size_t kWhereTruncated = 16;
  // Elsewhere it goes back by at most 1.6 % of the prompt.
  constexpr size_t kElsewhere = 64;
  return reuse == ReuseMode::kLive && !traits.NeedsSnapshots() ? kWhereTruncated : kElsewhere;
}

bool CutsAtMessages(const MemoryTraits& traits, ReuseMode reuse) {
  return reuse == ReuseMode::kExact ? traits.exact_at_messages : traits.cuts_at_messages;
}

// Where the engine found no grid, chunks are cut on the usual one. `exact` then reuses nothing
// (Restorer::Resume).
CutRules CutRulesOf(const Engine& engine, const SchedulerOptions& options) {
  if (options.reuse == ReuseMode::kAny) return {1};
  const MemoryTraits& traits = engine.traits();
  CutRules rules;
  rules.grid_tokens = traits.grid_tokens > 0 ? traits.grid_tokens : kUsualGridTokens;
  if (CutsAtMessages(traits, options.reuse)) rules.message_starts = options.message_starts;
  rules.gap_divisor = options.boundary_gap_divisor;
  return rules;
}

SchedulerContext::SchedulerContext(Engine* the_engine, CheckpointCache* the_cache,
                                   const Clock* the_clock, const SchedulerOptions& the_options)
    : engine(the_engine),
      cache(the_cache),
      clock(the_clock),
      options(the_options),
      cuts(CutRulesOf(*the_engine, the_options)),
      pool(the_engine, the_cache, the_clock, PoolOptions(the_options, cuts)),
      checkpoints(&pool),
      offloader(&pool, &checkpoints),
      mover(&pool, &offloader),
      restorer(&pool, &offloader, &mover),
      archive(&pool, &offloader),
      trace(the_options.trace, the_engine->slots()),
      pace(*MakeAnswerPace(the_options.pace)) {
  CHECK(options.reuse != ReuseMode::kExact ||
        (options.slots.move_tokens_min == 0 && !options.context_shift));
  stats.Update([&](SchedulerStats* now) { now->slots.resize(engine->slots()); });
}

void SchedulerContext::RefreshCache() {
  cache->SetNow(NowMs());
  cache->TakeEvents();
}

size_t SchedulerContext::FirstStop(const Slot& slot, const PromptCuts& of_prompt) const {
  const size_t end = slot.tokens().size();
  const ChunkRules rules = chunk_rules();
  const size_t first = std::max(of_prompt.FirstAfterAnswer(end, rules.off_cut_min), end + 1);
  // A short turn is one chunk, and it is not known which turn will come.
  return of_prompt.Has(end) ? first : std::max(first, end + rules.turn_tokens_max + 1);
}

ChunkRules SchedulerContext::chunk_rules() const {
  const bool needs_snapshots = engine->traits().NeedsSnapshots();
  ChunkRules rules;
  rules.chunk_tokens_max = engine->chunk_tokens_max();
  rules.off_cut_min = ChunkAfterAnswerMin(needs_snapshots, cuts.grid_tokens);
  rules.turn_tokens_max =
      TurnTokensMax(options.reuse, needs_snapshots, cuts.grid_tokens, rules.chunk_tokens_max);
  rules.whole_behind_clean = !needs_snapshots && options.reuse == ReuseMode::kLive;
  return rules;
}

void SchedulerContext::CountDecode(size_t requests) {
  stats.Update([requests](SchedulerStats* now) {
    ++now->decodes.calls;
    now->decodes.requests += requests;
  });
}

void SchedulerContext::InterruptIdleWork() const {
  if (options.idle_work != nullptr) options.idle_work->Interrupt();
}

void SchedulerContext::Log(LogLevel level, const std::string& line) const {
  if (options.log) options.log(level, line);
}

CheckpointCache::MatchResult SchedulerContext::Match(NamespaceId name_space, TokenSpan prompt,
                                                     bool reads_disk) const {
  CheckpointCache::MatchResult match = cache->Match(name_space, prompt);
  if (!reads_disk) KeepInMemory(*cache, name_space, prompt, &match);
  return match;
}

double SchedulerContext::DiskWaitMsMax(size_t prompt_tokens) const {
  return std::max(kDiskWaitMsMin, PrefillMs(prompt_tokens));
}

double SchedulerContext::PrefillMs(size_t tokens) const {
  const double ms_per_token = restorer.prefill_ms_per_token();
  return static_cast<double>(tokens) * (ms_per_token > 0 ? ms_per_token : 1);
}

}  // namespace cairn
