#include "api/admin/metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "api/admin/metrics_page.h"
#include "base/clock.h"
#include "base/memory_watch.h"

namespace cairn {
namespace {

double Rate(uint64_t tokens, double ms) {
  return ms > 0 ? SampleOf(tokens) * kMsPerS / ms : 0;
}

void AddLlamaServers(const SchedulerStats& stats, const TextCounts& texts, MetricsPage* page) {
  const uint64_t computed = stats.tokens.prompt - stats.tokens.reused + texts.tokens;
  const double prompt_ms = stats.tokens.prompt_ms + texts.ms;
  page->Counter("llamacpp:prompt_tokens_total", "Prompt tokens prefilled.", SampleOf(computed));
  page->Counter("llamacpp:prompt_tokens_cached_total", "Prompt tokens reused.",
                SampleOf(stats.tokens.reused));
  page->Counter("llamacpp:prompt_seconds_total",
                "Seconds from a request's slot to its first token, summed over requests.",
                prompt_ms / kMsPerS);
  page->Counter("llamacpp:tokens_predicted_total", "Tokens generated.",
                SampleOf(stats.tokens.generated));
  page->Counter("llamacpp:tokens_predicted_seconds_total",
                "Seconds of decoding, summed over requests.", stats.tokens.generated_ms / kMsPerS);
  page->Counter("llamacpp:n_decode_total", "Chunks of prompts and batches of tokens decoded.",
                SampleOf(stats.decodes.calls + texts.texts));
  // A counter in llama-server, too.
  page->Counter("llamacpp:n_tokens_max", "The most tokens that a slot has held.",
                SampleOf(stats.slot_tokens_max));
  page->Gauge("llamacpp:n_busy_slots_per_decode", "Average number of busy slots while decoding.",
              stats.decodes.calls > 0
                  ? SampleOf(stats.decodes.requests) / SampleOf(stats.decodes.calls)
                  : 0);
  page->Gauge("llamacpp:prompt_tokens_seconds", "Average prefill throughput in tokens per second.",
              Rate(computed, prompt_ms));
  page->Gauge("llamacpp:predicted_tokens_seconds",
              "Average decode throughput of one request in tokens per second.",
              Rate(stats.tokens.generated, stats.tokens.generated_ms));
  page->Gauge("llamacpp:requests_processing", "Requests that hold a slot.",
              SampleOf(stats.open.running));
  page->Gauge("llamacpp:requests_deferred", "Requests queued for a slot.",
              SampleOf(stats.open.waiting));
  DraftStats drafts;
  for (const DraftStats& source : stats.drafts) {
    drafts.drafted_tokens += source.drafted_tokens;
    drafts.accepted_tokens += source.accepted_tokens;
    drafts.verified += source.verified;
  }
  page->Counter("llamacpp:spec_decode_num_draft_tokens_total", "Drafted tokens verified.",
                SampleOf(drafts.drafted_tokens));
  page->Counter("llamacpp:spec_decode_num_accepted_tokens_total", "Drafted tokens accepted.",
                SampleOf(drafts.accepted_tokens));
  page->Counter("llamacpp:spec_decode_num_drafts_total", "Drafts verified.",
                SampleOf(drafts.verified));
}

void AddRequests(const SchedulerStats& stats, MetricsPage* page) {
  page->Counter("cairn_requests_total", "Requests answered, including cancelled ones.",
                SampleOf(stats.requests));
  page->Counter("cairn_requests_failed_total", "Requests that ended with an error.",
                SampleOf(stats.failed));
  page->Counter("cairn_requests_refused_total", "Requests refused because the queue was full.",
                SampleOf(stats.refused));
  page->Gauge("cairn_requests_waiting", "Requests queued for a slot.",
              SampleOf(stats.open.waiting));
  page->Gauge("cairn_requests_loading", "Queued requests whose states are being read from disk.",
              SampleOf(stats.open.loading));
  page->Gauge("cairn_requests_fetching",
              "Queued requests whose states are being looked up in or fetched from a remote store.",
              SampleOf(stats.open.fetching));
  page->Gauge("cairn_slots", "Number of slots.", SampleOf(stats.slots.size()));
  page->Gauge("cairn_slots_busy", "Slots that hold a running request.",
              SampleOf(std::count_if(stats.slots.begin(), stats.slots.end(),
                                     [](const SlotStats& slot) { return slot.busy; })));
  page->BeginHistogram("cairn_queue_seconds", "Time from a request's arrival to its slot.");
  page->Sample({}, stats.latencies.queue);
  page->BeginHistogram("cairn_time_to_first_token_seconds",
                       "Time from a request's arrival to its first token.");
  page->Sample({}, stats.latencies.first_token);
  page->Counter("cairn_generated_tokens_total", "Tokens generated.",
                SampleOf(stats.tokens.generated));
  page->Counter("cairn_generated_seconds_total",
                "Seconds from a request's first token to its last, summed over requests.",
                stats.tokens.generated_ms / kMsPerS);
}

void AddMedia(const EncodedMediaStats& media, MetricsPage* page) {
  page->Counter("cairn_media_encoded_total",
                "Images and recordings that were encoded into rows (--mmproj).",
                SampleOf(media.encoded));
  page->Counter("cairn_media_encode_seconds_total", "Time of decoding and encoding them.",
                media.encode_ms / kMsPerS);
  page->Counter("cairn_media_failed_total", "Images and recordings that could not be encoded.",
                SampleOf(media.failed));
  page->Counter("cairn_media_loaded_total",
                "Images and recordings whose rows were read from disk instead.",
                SampleOf(media.loaded));
  page->Gauge("cairn_media_rows_bytes", "Rows of encoded media in memory.", SampleOf(media.bytes));
}

void AddDrafts(const SchedulerStats& stats, MetricsPage* page) {
  page->BeginCounter("cairn_draft_tokens_total",
                     "Drafted tokens that were verified, by the draft's source.");
  for (size_t i = 0; i < kDraftSources; ++i) {
    page->Sample({{"source", std::string(DraftSourceName(static_cast<DraftSource>(i)))}},
                 SampleOf(stats.drafts[i].drafted_tokens));
  }
  page->BeginCounter("cairn_draft_tokens_accepted_total",
                     "Drafted tokens that were accepted, by the draft's source.");
  for (size_t i = 0; i < kDraftSources; ++i) {
    page->Sample({{"source", std::string(DraftSourceName(static_cast<DraftSource>(i)))}},
                 SampleOf(stats.drafts[i].accepted_tokens));
  }
  page->Counter("cairn_draft_model_prefill_tokens_total",
                "Tokens that the draft model prefilled (--model-draft).",
                SampleOf(stats.draft_model.prefilled_tokens));
  page->Counter("cairn_draft_model_reused_tokens_total",
                "Tokens of answers' texts that the draft model's slots and prefix cache had.",
                SampleOf(stats.draft_model.reused_tokens));
}

void AddPrompts(const MetricsInput& input, MetricsPage* page) {
  const SchedulerStats& stats = input.stats;
  const PromptSources& sources = stats.prompt_sources;
  page->BeginCounter("cairn_prompt_tokens_by_source_total",
                     "Prompt tokens by source: the slowest tier used to obtain them.");
  page->Sample({{"source", "live"}}, SampleOf(sources.live));
  page->Sample({{"source", "ram"}}, SampleOf(sources.ram));
  page->Sample({{"source", "disk"}}, SampleOf(sources.disk));
  page->Sample({{"source", "prefetched"}}, SampleOf(sources.prefetched));
  page->Sample({{"source", "computed"}}, SampleOf(sources.computed));
  page->BeginCounter("cairn_cache_misses_total",
                     "Requests that prefilled more than their new tokens, by reason.");
  using Why = Explanation::Why;
  for (const Why why : {Why::kNewPrompt, Why::kDiverged, Why::kNoCheckpoint, Why::kNotAllowed}) {
    const auto found = input.whys.find(why);
    page->Sample({{"reason", WhyName(why)}},
                 found == input.whys.end() ? 0 : SampleOf(found->second));
  }
  page->BeginHistogram("cairn_restore_seconds",
                       "Time to restore state that no slot held, by slowest tier.");
  page->Sample({{"tier", "ram"}}, stats.latencies.ram_restore);
  page->Sample({{"tier", "disk"}}, stats.latencies.disk_restore);
  page->BeginCounter("cairn_resume_paths_total",
                     "Prompts resumed from the cache or from another slot, by resume path.");
  page->Sample({{"path", "restored"}}, SampleOf(stats.slot_counters.checkpoints_restored));
  page->Sample({{"path", "assembled"}}, SampleOf(stats.slot_counters.assembled));
  page->Sample({{"path", "forked"}}, SampleOf(stats.slot_counters.forked));
  page->Sample({{"path", "full_state"}}, SampleOf(stats.slot_counters.full_states_set));
  page->Sample({{"path", "moved"}}, SampleOf(stats.slot_counters.moved));
  page->Sample({{"path", "failed"}}, SampleOf(stats.slot_counters.failed));
  page->Counter("cairn_prefetched_tokens_total",
                "Prompt tokens prefilled while idle, before a request needed them.",
                SampleOf(stats.prefetch.tokens));
}

void AddSlots(const SchedulerStats& stats, MetricsPage* page) {
  page->Counter("cairn_slots_offloaded_total", "Times a slot's content was stored in the cache.",
                SampleOf(stats.slot_counters.offloaded));
  page->Counter(
      "cairn_requests_preempted_total",
      "Times a running request lost its slot for a while, for lack of room or to another.",
      SampleOf(stats.preempted));
  page->Counter("cairn_waited_for_prefill_total",
                "Requests that waited while another request prefilled their common prefix.",
                SampleOf(stats.waited_for_prefix));
  page->Counter("cairn_context_shifts_total",
                "Times the older half of a full slot was dropped (--context-shift).",
                SampleOf(stats.slot_counters.shifted));
  page->Gauge("cairn_sleeping", "1 while the model is unloaded.", stats.sleep.asleep ? 1 : 0);
  page->Counter("cairn_sleeps_total", "Times the model was unloaded.", SampleOf(stats.sleep.count));
  page->Counter("cairn_wake_seconds_total", "Seconds spent loading the model again.",
                stats.sleep.wake_ms / kMsPerS);
}

void AddMemory(const SchedulerStats& stats, MetricsPage* page) {
  page->Gauge("cairn_memory_left_bytes",
              "Bytes of memory that this process may still use; 0 before the first measurement.",
              SampleOf(stats.memory.left_bytes));
  page->Gauge("cairn_heap_used_bytes",
              "Bytes that the process has allocated and not freed, the cache included.",
              SampleOf(HeapUsedBytes()));
  page->Counter("cairn_cache_shrinks_total", "Times the cache shrank because memory was short.",
                SampleOf(stats.memory.sheddings));
  page->Counter("cairn_cache_shrunk_bytes_total",
                "Bytes removed from memory because memory was short.",
                SampleOf(stats.memory.shed_bytes));
  page->Counter("cairn_memory_failures_total",
                "Times all running requests failed because memory could not be allocated.",
                SampleOf(stats.memory.failures));
}

// The name as a label value: without spaces.
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
      page->Sample({{"class", label}, {"tier", "ram"}}, SampleOf(held.ram.*figure));
      page->Sample({{"class", label}, {"tier", "disk"}}, SampleOf(held.disk.*figure));
    }
  };
  page->BeginGauge("cairn_checkpoints", "Checkpoints in the cache, by class and fastest tier.");
  add(&Tier::things);
  page->BeginGauge("cairn_checkpoint_bytes",
                   "Bytes of the checkpoints' snapshots, by class and fastest tier.");
  add(&Tier::bytes);
}

void AddHeld(std::string_view name, std::string_view help, const HeldStats& held,
             size_t HeldStats::Tier::* figure, MetricsPage* page) {
  page->BeginGauge(name, help);
  page->Sample({{"tier", "ram"}}, SampleOf(held.ram.*figure));
  page->Sample({{"tier", "disk"}}, SampleOf(held.disk.*figure));
}

void AddEvictions(const CacheStats& cache, MetricsPage* page) {
  page->BeginCounter("cairn_cache_evictions_total",
                     "Checkpoints, segments and full states removed from the cache, by reason.");
  page->Sample({{"reason", "capacity"}}, SampleOf(cache.evicted - cache.path_full));
  page->Sample({{"reason", "path_full"}}, SampleOf(cache.path_full));
  page->Sample({{"reason", "outgrown"}}, SampleOf(cache.outgrown));
  page->Sample({{"reason", "replaced"}}, SampleOf(cache.replaced));
  page->Sample({{"reason", "not_restorable"}}, SampleOf(cache.discarded));
  page->Sample({{"reason", "lost"}}, SampleOf(cache.lost));
}

void AddCache(const CacheStats& cache, MetricsPage* page) {
  using Tier = HeldStats::Tier;
  AddCheckpoints(cache, page);
  AddHeld("cairn_segments", "Attention KV segments in the cache.", cache.segments_held,
          &Tier::things, page);
  AddHeld("cairn_segment_bytes", "Bytes of attention KV segments in the cache.",
          cache.segments_held, &Tier::bytes, page);
  AddHeld("cairn_full_states", "Full slot states in the cache.", cache.full_states_held,
          &Tier::things, page);
  AddHeld("cairn_full_state_bytes", "Bytes of full slot states in the cache.",
          cache.full_states_held, &Tier::bytes, page);
  page->Gauge("cairn_cache_bytes", "Bytes of memory charged to the cache's budget.",
              SampleOf(cache.bytes));
  page->Gauge("cairn_cache_limit_bytes",
              "The cache's current memory budget; below --cache-ram while memory is short.",
              SampleOf(cache.bytes_max));
  AddEvictions(cache, page);
  page->Counter("cairn_cache_refused_total",
                "Objects rejected because the cache was full and nothing could be evicted.",
                SampleOf(cache.refused));
  page->Counter("cairn_cache_released_total",
                "Objects removed from memory because a copy of them is on disk.",
                SampleOf(cache.released));
  page->Counter("cairn_cache_discovered_total",
                "Objects found on disk that an earlier run or another process saved.",
                SampleOf(cache.taken_in));
  page->Gauge("cairn_pinned_checkpoints", "Checkpoints pinned by clients.", SampleOf(cache.kept));
  page->Counter("cairn_pins_refused_total",
                "Pins refused because they would have held too much of the cache.",
                SampleOf(cache.keeps_refused));
}

void AddSaved(const SchedulerStats& stats, MetricsPage* page) {
  const SavedStats& saved = stats.saved;
  page->Gauge("cairn_disk_objects", "Cache files on disk that this model can use.",
              SampleOf(saved.objects));
  page->Gauge("cairn_disk_bytes", "Bytes of all files in the cache folder, for every model.",
              SampleOf(saved.bytes));
  page->Gauge("cairn_disk_limit_bytes", "Disk budget in bytes (--cache-disk); 0 if it is off.",
              SampleOf(saved.bytes_max));
  page->Gauge("cairn_disk_unsynced_bytes",
              "Approximate bytes that would be lost in a power failure now.",
              SampleOf(saved.unsynced_bytes + stats.unsaved_bytes));
  page->BeginHistogram("cairn_disk_save_lag_seconds",
                       "Time from the end of an answer until its state is saved on disk.");
  page->Sample({}, stats.latencies.save_lag);
  page->Counter("cairn_disk_written_total", "Cache files written.", SampleOf(saved.written));
  page->Counter("cairn_disk_written_bytes_total", "Bytes written to cache files.",
                SampleOf(saved.written_bytes));
  page->Gauge("cairn_disk_written_day_bytes",
              "Bytes written to cache files in the last 24 hours, which wear flash memory.",
              SampleOf(saved.day_bytes));
  page->Gauge("cairn_disk_written_day_limit_bytes",
              "The most bytes to write in 24 hours (--disk-write-gib-day); 0: no limit.",
              SampleOf(saved.day_bytes_max));
  page->Counter("cairn_disk_read_total", "Cache files read to restore state.",
                SampleOf(saved.read));
  page->Counter("cairn_disk_read_bytes_total", "Bytes read from cache files to restore state.",
                SampleOf(saved.read_bytes));
  page->Counter("cairn_disk_evicted_total", "Cache files evicted to stay within the disk budget.",
                SampleOf(saved.evicted));
  page->Counter("cairn_disk_corrupt_total", "Cache files whose content failed verification.",
                SampleOf(saved.corrupt));
  page->Counter("cairn_disk_errors_total", "Errors that the file system returned.",
                SampleOf(saved.errors));
  page->Gauge("cairn_disk_refusing", "1 while the cache folder cannot be written.",
              saved.refusing ? 1 : 0);
}

void AddRemote(const RemoteFigures& remote, MetricsPage* page) {
  page->BeginCounter("cairn_remote_lookups_total",
                     "Prompts looked up in the remote store (--remote), by result.");
  page->Sample({{"result", "hit"}}, SampleOf(remote.hits));
  page->Sample({{"result", "miss"}},
               SampleOf(remote.lookups - std::min(remote.lookups, remote.hits)));
  page->Counter("cairn_remote_too_slow_total",
                "Lookups and fetches that took longer than a request waits.",
                SampleOf(remote.too_slow));
  page->Counter("cairn_remote_fetched_total", "Objects fetched from the remote store.",
                SampleOf(remote.fetched));
  page->Counter("cairn_remote_fetched_bytes_total", "Bytes received from the remote store.",
                SampleOf(remote.fetched_bytes));
  page->Counter("cairn_remote_fetch_seconds_total", "Time of receiving them, summed over objects.",
                remote.fetch_ms / kMsPerS);
  page->Counter("cairn_remote_uploaded_total", "Objects uploaded to the remote store.",
                SampleOf(remote.uploaded));
  page->Counter("cairn_remote_uploaded_bytes_total", "Bytes uploaded to the remote store.",
                SampleOf(remote.uploaded_bytes));
  page->Gauge("cairn_remote_to_upload", "Objects that may be uploaded once their time comes.",
              SampleOf(remote.to_upload));
  page->Counter("cairn_remote_corrupt_total",
                "Fetched objects that were damaged, forged or another server's with another key.",
                SampleOf(remote.corrupt));
  page->Counter("cairn_remote_stale_total", "Index entries whose object was gone.",
                SampleOf(remote.stale));
  page->Counter("cairn_remote_failures_total", "Calls that the remote store or its index failed.",
                SampleOf(remote.failures));
  page->Gauge("cairn_remote_open",
              "1 while the remote store or its index does not answer and is left alone.",
              remote.open ? 1 : 0);
  page->Gauge("cairn_remote_refusing", "1 while the remote store takes no more.",
              remote.refusing ? 1 : 0);
}

void AddBoundaries(const SpanStats& spans, MetricsPage* page) {
  page->BeginCounter(
      "cairn_boundaries_total",
      "User and tool messages of all prompts, by how exactly their start was found.");
  page->Sample({{"found", "exact"}}, SampleOf(spans.boundaries_exact));
  page->Sample({{"found", "earlier"}}, SampleOf(spans.boundaries_earlier));
  page->Sample({{"found", "unknown"}}, SampleOf(spans.boundaries_unknown));
  page->BeginCounter("cairn_renders_total", "Renderings of the chat template, by purpose.");
  page->Sample({{"of", "prompts"}}, SampleOf(spans.prompts));
  page->Sample({{"of", "boundaries"}}, SampleOf(spans.renders));
}

void AddKvEvents(const KvEventsStats& events, MetricsPage* page) {
  page->Counter("cairn_kv_events_batches_total", "Batches of KV events published.",
                SampleOf(events.batches));
  page->BeginCounter("cairn_kv_events_blocks_total",
                     "Blocks of 64 tokens published as stored or as removed, in one tier each.");
  page->Sample({{"event", "stored"}}, SampleOf(events.stored_blocks));
  page->Sample({{"event", "removed"}}, SampleOf(events.removed_blocks));
  page->Counter("cairn_kv_events_resets_total",
                "Times that all KV events were published anew, because the log was full.",
                SampleOf(events.resets));
  page->Counter("cairn_kv_events_replays_total", "Requests for earlier KV events.",
                SampleOf(events.replays));
  page->BeginGauge("cairn_kv_events_blocks", "Blocks of 64 tokens that routers know, by tier.");
  for (size_t tier = 0; tier < events.blocks.size(); ++tier) {
    const std::string medium(MediumName(static_cast<PrefixTier>(tier)));
    page->Sample({{"medium", medium}}, SampleOf(events.blocks.at(tier)));
  }
}

}  // namespace

std::string MetricsText(const MetricsInput& input) {
  MetricsPage page;
  page.BeginGauge("cairn_info", "Always 1; the labels name the version and the model.");
  page.Sample({{"version", input.version}, {"model", input.model}}, 1);
  AddLlamaServers(input.stats, input.texts, &page);
  AddRequests(input.stats, &page);
  AddRefusals(input.refusals, &page);
  page.Gauge("cairn_draining", "1 while the server takes no new requests (/cairn/drain, SIGTERM).",
             input.draining ? 1 : 0);
  AddDrafts(input.stats, &page);
  AddMedia(input.stats.media, &page);
  AddPrompts(input, &page);
  AddSlots(input.stats, &page);
  AddCache(input.stats.cache, &page);
  AddMemory(input.stats, &page);
  AddSaved(input.stats, &page);
  AddRemote(input.stats.remote, &page);
  AddBoundaries(input.spans, &page);
  if (input.kv_events) AddKvEvents(*input.kv_events, &page);
  return std::move(page).text();
}

}  // namespace cairn
