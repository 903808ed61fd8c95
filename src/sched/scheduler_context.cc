#include "sched/scheduler_context.h"

#include "base/check.h"

namespace cairn {
namespace {

// Where the engine found no grid, chunks are cut on the usual one. `exact` then reuses nothing
// (Restorer::Resume).
size_t GridTokens(const Engine& engine, ReuseMode reuse) {
  if (reuse == ReuseMode::kAny) return 1;
  return engine.traits().grid_tokens > 0 ? engine.traits().grid_tokens : kUsualGridTokens;
}

SlotPoolOptions PoolOptions(const SchedulerOptions& options, size_t grid_tokens) {
  return {
      options.reuse,         grid_tokens,       options.keep_ends,       options.offload,
      options.first_lineage, options.unused_ms, options.move_tokens_min, options.beside_tokens_max,
      options.trace};
}

}  // namespace

SchedulerContext::SchedulerContext(Engine* the_engine, CheckpointCache* the_cache,
                                   const Clock* the_clock, const SchedulerOptions& the_options)
    : engine(the_engine),
      cache(the_cache),
      clock(the_clock),
      options(the_options),
      grid_tokens(GridTokens(*the_engine, the_options.reuse)),
      pool(the_engine, the_cache, the_clock, PoolOptions(the_options, grid_tokens)),
      checkpoints(&pool),
      offloader(&pool, &checkpoints),
      mover(&pool, &offloader),
      restorer(&pool, &offloader, &mover),
      archive(&pool, &offloader),
      trace(the_options.trace, the_engine->slots()),
      time_share(the_options.prefill_share) {
  CHECK(options.reuse != ReuseMode::kExact ||
        (options.move_tokens_min == 0 && !options.context_shift));
  stats.Update([&](SchedulerStats* now) { now->slots.resize(engine->slots()); });
}

void SchedulerContext::RefreshCache() {
  cache->SetNow(NowMs());
  cache->TakeEvents();
}

void SchedulerContext::Log(LogLevel level, const std::string& line) const {
  if (options.log) options.log(level, line);
}

double SchedulerContext::PrefillMs(size_t tokens) const {
  const double ms_per_token = restorer.prefill_ms_per_token();
  return static_cast<double>(tokens) * (ms_per_token > 0 ? ms_per_token : 1);
}

}  // namespace cairn
