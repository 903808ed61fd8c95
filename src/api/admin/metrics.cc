#include "api/admin/metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "api/admin/metrics_page.h"

namespace cairn {
namespace {

constexpr double kMsPerS = 1000;

template <typename Count>
double Of(Count count) {
  return static_cast<double>(count);
}

double Rate(uint64_t tokens, double ms) {
  return ms > 0 ? Of(tokens) * kMsPerS / ms : 0;
}

void AddLlamaServers(const SchedulerStats& stats, MetricsPage* page) {
  const uint64_t read = stats.prompt_tokens - stats.reused_tokens;
  page->Counter("llamacpp:prompt_tokens_total", "Prompt tokens that were read.", Of(read));
  page->Counter("llamacpp:prompt_seconds_total", "Seconds until first tokens.",
                stats.prompt_ms / kMsPerS);
  page->Counter("llamacpp:tokens_predicted_total", "Tokens generated.", Of(stats.generated_tokens));
  page->Counter("llamacpp:tokens_predicted_seconds_total", "Seconds of generating.",
                stats.generated_ms / kMsPerS);
  page->Gauge("llamacpp:prompt_tokens_seconds", "Prompt tokens read a second, on average.",
              Rate(read, stats.prompt_ms));
  page->Gauge("llamacpp:predicted_tokens_seconds", "Tokens generated a second, on average.",
              Rate(stats.generated_tokens, stats.generated_ms));
  page->Gauge("llamacpp:requests_processing", "Requests that have a slot.", Of(stats.running));
  page->Gauge("llamacpp:requests_deferred", "Requests that wait for a slot.", Of(stats.waiting));
}

void AddRequests(const SchedulerStats& stats, MetricsPage* page) {
  page->Counter("cairn_requests_total", "Requests answered.", Of(stats.requests));
  page->Counter("cairn_requests_failed_total", "Requests that ended with an error.",
                Of(stats.failed));
  page->Counter("cairn_requests_refused_total", "Requests that found the queue full.",
                Of(stats.refused));
  page->Gauge("cairn_requests_waiting", "Requests that wait for a slot.", Of(stats.waiting));
  page->Gauge("cairn_slots", "Slots.", Of(stats.slots.size()));
  page->Gauge("cairn_slots_busy", "Slots that answer a request.",
              Of(std::count_if(stats.slots.begin(), stats.slots.end(),
                               [](const SlotStats& slot) { return slot.busy; })));
  page->BeginHistogram("cairn_queue_seconds", "Times from a request's arrival to its slot.");
  page->Sample({}, stats.queue_times);
  page->BeginHistogram("cairn_time_to_first_token_seconds",
                       "Times from a request's arrival to its first token.");
  page->Sample({}, stats.first_token_times);
  page->Counter("cairn_generated_tokens_total", "Tokens generated.", Of(stats.generated_tokens));
  page->Counter("cairn_generated_seconds_total",
                "Seconds from first tokens to last ones, of all requests together.",
                stats.generated_ms / kMsPerS);
}

void AddPrompts(const MetricsInput& input, MetricsPage* page) {
  const SchedulerStats& stats = input.stats;
  const PromptSources& sources = stats.prompt_sources;
  page->BeginCounter("cairn_prompt_tokens_total",
                     "Prompt tokens by the slowest place that something was needed from for them.");
  page->Sample({{"source", "live"}}, Of(sources.live));
  page->Sample({{"source", "ram"}}, Of(sources.ram));
  page->Sample({{"source", "disk"}}, Of(sources.disk));
  page->Sample({{"source", "warmed"}}, Of(sources.prefetched));
  page->Sample({{"source", "read"}}, Of(sources.computed));
  page->BeginCounter("cairn_misses_total", "Requests that had to read more than was new, by why.");
  using Why = Explanation::Why;
  for (const Why why : {Why::kNewPrompt, Why::kDiverged, Why::kNoCheckpoint, Why::kNotAllowed}) {
    const auto found = input.whys.find(why);
    page->Sample({{"reason", WhyName(why)}}, found == input.whys.end() ? 0 : Of(found->second));
  }
  page->BeginHistogram("cairn_restore_seconds",
                       "Times of going back to what was not in a slot, by the slowest tier.");
  page->Sample({{"tier", "ram"}}, stats.ram_restore_times);
  page->Sample({{"tier", "disk"}}, stats.disk_restore_times);
  page->BeginCounter("cairn_resumes_total",
                     "Ways back that were taken, beside going on or cutting.");
  page->Sample({{"way", "restored"}}, Of(stats.slot_counters.checkpoints_restored));
  page->Sample({{"way", "joined"}}, Of(stats.slot_counters.assembled));
  page->Sample({{"way", "forked"}}, Of(stats.slot_counters.forked));
  page->Sample({{"way", "whole"}}, Of(stats.slot_counters.full_states_set));
  page->Sample({{"way", "moved"}}, Of(stats.slot_counters.moved));
  page->Sample({{"way", "failed"}}, Of(stats.slot_counters.failed));
  page->Counter("cairn_warmed_tokens_total", "Prompt tokens read before anyone asked.",
                Of(stats.prefetched_tokens));
}

void AddSlots(const SchedulerStats& stats, MetricsPage* page) {
  page->Counter("cairn_slots_parked_total", "Slots whose content was stored.",
                Of(stats.slot_counters.offloaded));
  page->Counter("cairn_slots_given_up_total", "Slots given up for want of room.",
                Of(stats.preempted));
  page->Counter("cairn_waited_for_reader_total",
                "Requests that let another read what both begin with.",
                Of(stats.waited_for_prefix));
  page->Counter("cairn_context_shifts_total",
                "Times that the older half of a full slot was dropped.",
                Of(stats.slot_counters.shifted));
  page->Gauge("cairn_sleeping", "1 while the model is unloaded.", stats.sleeping ? 1 : 0);
  page->Counter("cairn_sleeps_total", "Times the model was unloaded.", Of(stats.sleeps));
  page->Counter("cairn_wake_seconds_total", "Seconds of loading it again.",
                stats.wake_ms / kMsPerS);
}

void AddMemory(const SchedulerStats& stats, MetricsPage* page) {
  page->Gauge("cairn_memory_left_bytes",
              "Bytes that this process may still use; 0: nobody has looked.",
              Of(stats.memory_left_bytes));
  page->Counter("cairn_cache_sheddings_total",
                "Times that the cache gave things up as memory was short.", Of(stats.sheddings));
  page->Counter("cairn_cache_shed_bytes_total", "Bytes that left memory so.", Of(stats.shed_bytes));
  page->Counter("cairn_memory_failures_total",
                "Times that all requests at work failed for want of memory.",
                Of(stats.memory_failures));
}

// As a label has it.
std::string ClassLabel(CheckpointClass checkpoint_class) {
  std::string label(CheckpointClassName(checkpoint_class));
  std::replace(label.begin(), label.end(), ' ', '_');
  return label;
}

void AddCheckpoints(const CacheStats& cache, MetricsPage* page) {
  using Tier = HeldStats::Tier;
  const auto add = [&](size_t Tier::* figure) {
    for (unsigned value = 0; value <= UINT8_MAX; ++value) {
      const auto known = ParseCheckpointClass(static_cast<uint8_t>(value));
      if (!known) continue;
      const auto found = cache.checkpoints_held.find(*known);
      const HeldStats held = found == cache.checkpoints_held.end() ? HeldStats{} : found->second;
      const std::string label = ClassLabel(*known);
      page->Sample({{"class", label}, {"tier", "ram"}}, Of(held.ram.*figure));
      page->Sample({{"class", label}, {"tier", "disk"}}, Of(held.disk.*figure));
    }
  };
  page->BeginGauge("cairn_checkpoints",
                   "Checkpoints held, by class and by where they would be read from.");
  add(&Tier::things);
  page->BeginGauge("cairn_checkpoint_bytes", "Bytes of their snapshots.");
  add(&Tier::bytes);
}

void AddHeld(std::string_view name, std::string_view help, const HeldStats& held,
             size_t HeldStats::Tier::* figure, MetricsPage* page) {
  page->BeginGauge(name, help);
  page->Sample({{"tier", "ram"}}, Of(held.ram.*figure));
  page->Sample({{"tier", "disk"}}, Of(held.disk.*figure));
}

void AddCache(const CacheStats& cache, MetricsPage* page) {
  using Tier = HeldStats::Tier;
  AddCheckpoints(cache, page);
  AddHeld("cairn_segments", "Ranges of attention KV held.", cache.segments_held, &Tier::things,
          page);
  AddHeld("cairn_segment_bytes", "Their bytes.", cache.segments_held, &Tier::bytes, page);
  AddHeld("cairn_whole_slots", "Slots stored whole.", cache.full_states_held, &Tier::things, page);
  AddHeld("cairn_whole_slot_bytes", "Their bytes.", cache.full_states_held, &Tier::bytes, page);
  page->Gauge("cairn_cache_bytes", "Bytes that the cache's budget counts.", Of(cache.bytes));
  page->Gauge("cairn_cache_limit_bytes", "The budget in force; less while memory is short.",
              Of(cache.bytes_max));
  page->BeginCounter("cairn_cache_evicted_total", "Things that the cache gave up, by why.");
  page->Sample({{"reason", "gave_way"}}, Of(cache.evicted - cache.path_full));
  page->Sample({{"reason", "path_full"}}, Of(cache.path_full));
  page->Sample({{"reason", "outgrown"}}, Of(cache.outgrown));
  page->Sample({{"reason", "replaced"}}, Of(cache.replaced));
  page->Sample({{"reason", "not_restorable"}}, Of(cache.discarded));
  page->Sample({{"reason", "lost"}}, Of(cache.lost));
  page->Counter("cairn_cache_refused_total", "Things that found no room.", Of(cache.refused));
  page->Counter("cairn_cache_released_total", "Things that left memory, as they are on disk.",
                Of(cache.released));
  page->Counter("cairn_cache_taken_in_total", "Things found on disk, saved earlier or by others.",
                Of(cache.taken_in));
  page->Gauge("cairn_cache_kept", "Checkpoints kept because a client marked them.", Of(cache.kept));
  page->Counter("cairn_cache_keeps_refused_total", "Marks that would have kept too much.",
                Of(cache.keeps_refused));
}

void AddSaved(const SchedulerStats& stats, MetricsPage* page) {
  const SavedStats& saved = stats.saved;
  page->Gauge("cairn_disk_objects", "Files of the cache's folder that this model can use.",
              Of(saved.objects));
  page->Gauge("cairn_disk_bytes", "Bytes of all files in the cache's folder.", Of(saved.bytes));
  page->Gauge("cairn_disk_limit_bytes", "So many may be there; 0: nothing is saved.",
              Of(saved.bytes_max));
  page->Gauge("cairn_disk_unsynced_bytes",
              "About so many bytes that are worth keeping would be lost if the power went now.",
              Of(saved.unsynced_bytes + stats.unsaved_bytes));
  page->BeginHistogram("cairn_disk_save_lag_seconds",
                       "From the end of an answer until all that is worth keeping is on disk.");
  page->Sample({}, stats.save_lags);
  page->Counter("cairn_disk_written_total", "Files written.", Of(saved.written));
  page->Counter("cairn_disk_written_bytes_total", "Bytes written.", Of(saved.written_bytes));
  page->Counter("cairn_disk_read_total", "Files read to go back to what they hold.",
                Of(saved.read));
  page->Counter("cairn_disk_read_bytes_total", "Bytes read for that.", Of(saved.read_bytes));
  page->Counter("cairn_disk_given_up_total", "Files removed for room.", Of(saved.evicted));
  page->Counter("cairn_disk_corrupt_total", "Files that did not say what they should.",
                Of(saved.corrupt));
  page->Counter("cairn_disk_errors_total", "Refusals of the file system.", Of(saved.errors));
  page->Gauge("cairn_disk_refusing", "1 while nothing can be written to the cache's folder.",
              saved.refusing ? 1 : 0);
}

void AddBoundaries(const SpanStats& spans, MetricsPage* page) {
  page->BeginCounter("cairn_boundaries_total",
                     "User and tool messages by how well their begin was found in the prompt.");
  page->Sample({{"found", "exact"}}, Of(spans.boundaries_exact));
  page->Sample({{"found", "earlier"}}, Of(spans.boundaries_earlier));
  page->Sample({{"found", "unknown"}}, Of(spans.boundaries_unknown));
  page->BeginCounter("cairn_renders_total",
                     "Renderings of the chat template, by what they were for.");
  page->Sample({{"of", "prompts"}}, Of(spans.prompts));
  page->Sample({{"of", "boundaries"}}, Of(spans.renders));
  page->Sample({{"of", "newest_messages"}}, Of(spans.short_renders));
}

}  // namespace

std::string MetricsText(const MetricsInput& input) {
  MetricsPage page;
  page.BeginGauge("cairn_info", "Always 1; the labels say what runs.");
  page.Sample({{"version", input.version}, {"model", input.model}}, 1);
  AddLlamaServers(input.stats, &page);
  AddRequests(input.stats, &page);
  AddPrompts(input, &page);
  AddSlots(input.stats, &page);
  AddCache(input.stats.cache, &page);
  AddMemory(input.stats, &page);
  AddSaved(input.stats, &page);
  AddBoundaries(input.spans, &page);
  return std::move(page).text();
}

}  // namespace cairn
