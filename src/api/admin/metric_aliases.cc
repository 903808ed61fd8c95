#include "api/admin/metric_aliases.h"

#include <string>
#include <string_view>

#include "api/record/json_aliases.h"

namespace cairn {
namespace {

std::string Use(std::string_view name) {
  return "Deprecated, use " + std::string(name) + ".";
}

void AddPromptAliases(const MetricsInput& input, MetricsPage* page) {
  const PromptSources& sources = input.stats.prompt_sources;
  page->BeginCounter("cairn_prompt_tokens_total", Use("cairn_prompt_tokens_by_source_total"));
  page->Sample({{"source", "live"}}, SampleOf(sources.live));
  page->Sample({{"source", "ram"}}, SampleOf(sources.ram));
  page->Sample({{"source", "disk"}}, SampleOf(sources.disk));
  page->Sample({{"source", "warmed"}}, SampleOf(sources.prefetched));
  page->Sample({{"source", "read"}}, SampleOf(sources.computed));
  page->BeginCounter("cairn_misses_total", Use("cairn_cache_misses_total"));
  using Why = Explanation::Why;
  for (const Why why : {Why::kNewPrompt, Why::kDiverged, Why::kNoCheckpoint, Why::kNotAllowed}) {
    const auto found = input.whys.find(why);
    page->Sample({{"reason", DeprecatedWhyName(why)}},
                 found == input.whys.end() ? 0 : SampleOf(found->second));
  }
  page->Counter("cairn_warmed_tokens_total", Use("cairn_prefetched_tokens_total"),
                SampleOf(input.stats.prefetched_tokens));
}

void AddSlotAliases(const SchedulerStats& stats, MetricsPage* page) {
  const SlotCounters& slots = stats.slot_counters;
  page->BeginCounter("cairn_resumes_total", Use("cairn_resume_paths_total"));
  page->Sample({{"way", "restored"}}, SampleOf(slots.checkpoints_restored));
  page->Sample({{"way", "joined"}}, SampleOf(slots.assembled));
  page->Sample({{"way", "forked"}}, SampleOf(slots.forked));
  page->Sample({{"way", "whole"}}, SampleOf(slots.full_states_set));
  page->Sample({{"way", "moved"}}, SampleOf(slots.moved));
  page->Sample({{"way", "failed"}}, SampleOf(slots.failed));
  page->Counter("cairn_slots_parked_total", Use("cairn_slots_offloaded_total"),
                SampleOf(slots.offloaded));
  page->Counter("cairn_slots_given_up_total", Use("cairn_requests_preempted_total"),
                SampleOf(stats.preempted));
  page->Counter("cairn_waited_for_reader_total", Use("cairn_waited_for_prefill_total"),
                SampleOf(stats.waited_for_prefix));
}

void AddTiers(std::string_view name, std::string_view use, const HeldStats& held,
              size_t HeldStats::Tier::* figure, MetricsPage* page) {
  page->BeginGauge(name, Use(use));
  page->Sample({{"tier", "ram"}}, SampleOf(held.ram.*figure));
  page->Sample({{"tier", "disk"}}, SampleOf(held.disk.*figure));
}

void AddCacheAliases(const SchedulerStats& stats, MetricsPage* page) {
  using Tier = HeldStats::Tier;
  const CacheStats& cache = stats.cache;
  AddTiers("cairn_whole_slots", "cairn_full_states", cache.full_states_held, &Tier::things, page);
  AddTiers("cairn_whole_slot_bytes", "cairn_full_state_bytes", cache.full_states_held, &Tier::bytes,
           page);
  page->BeginCounter("cairn_cache_evicted_total", Use("cairn_cache_evictions_total"));
  page->Sample({{"reason", "gave_way"}}, SampleOf(cache.evicted - cache.path_full));
  page->Sample({{"reason", "path_full"}}, SampleOf(cache.path_full));
  page->Sample({{"reason", "outgrown"}}, SampleOf(cache.outgrown));
  page->Sample({{"reason", "replaced"}}, SampleOf(cache.replaced));
  page->Sample({{"reason", "not_restorable"}}, SampleOf(cache.discarded));
  page->Sample({{"reason", "lost"}}, SampleOf(cache.lost));
  page->Counter("cairn_cache_taken_in_total", Use("cairn_cache_discovered_total"),
                SampleOf(cache.taken_in));
  page->Counter("cairn_cache_sheddings_total", Use("cairn_cache_shrinks_total"),
                SampleOf(stats.sheddings));
  page->Counter("cairn_cache_shed_bytes_total", Use("cairn_cache_shrunk_bytes_total"),
                SampleOf(stats.shed_bytes));
  page->Gauge("cairn_cache_kept", Use("cairn_pinned_checkpoints"), SampleOf(cache.kept));
  page->Counter("cairn_cache_keeps_refused_total", Use("cairn_pins_refused_total"),
                SampleOf(cache.keeps_refused));
  page->Counter("cairn_disk_given_up_total", Use("cairn_disk_evicted_total"),
                SampleOf(stats.saved.evicted));
}

}  // namespace

void AddMetricAliases(const MetricsInput& input, MetricsPage* page) {
  AddPromptAliases(input, page);
  AddSlotAliases(input.stats, page);
  AddCacheAliases(input.stats, page);
}

}  // namespace cairn
