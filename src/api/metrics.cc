#include "api/metrics.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace cairn {
namespace {

constexpr double kMsPerS = 1000;

class MetricsPage {
 public:
  void Counter(std::string_view name, std::string_view help, double value) {
    Head(name, help, "counter");
    Sample(name, "", value);
  }
  void Gauge(std::string_view name, std::string_view help, double value) {
    Head(name, help, "gauge");
    Sample(name, "", value);
  }
  void Head(std::string_view name, std::string_view help, std::string_view type) {
    Add({"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"});
  }
  void Sample(std::string_view name, std::string_view labels, double value) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.17g", value);
    Add({name, labels, " ", number.data(), "\n"});
  }
  std::string text() && { return std::move(text_); }

 private:
  void Add(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) text_ += part;
  }

  std::string text_;
};

double Of(uint64_t count) {
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

void AddOurs(const SchedulerStats& stats, MetricsPage* page) {
  page->Counter("cairn_requests_total", "Requests answered.", Of(stats.requests));
  page->Head("cairn_prompt_tokens_total", "Prompt tokens by where they came from.", "counter");
  page->Sample("cairn_prompt_tokens_total", R"({source="reused"})", Of(stats.reused_tokens));
  page->Sample("cairn_prompt_tokens_total", R"({source="read"})",
               Of(stats.prompt_tokens - stats.reused_tokens));
  page->Head("cairn_resumes_total", "Ways back that were taken, beside going on or cutting.",
             "counter");
  page->Sample("cairn_resumes_total", R"({way="restored"})", Of(stats.keeper.checkpoints_restored));
  page->Sample("cairn_resumes_total", R"({way="joined"})", Of(stats.keeper.joined));
  page->Sample("cairn_resumes_total", R"({way="forked"})", Of(stats.keeper.forked));
  page->Sample("cairn_resumes_total", R"({way="whole"})", Of(stats.keeper.wholes_set));
  page->Sample("cairn_resumes_total", R"({way="moved"})", Of(stats.keeper.moved));
  page->Sample("cairn_resumes_total", R"({way="failed"})", Of(stats.keeper.failed));
  page->Counter("cairn_slots_parked_total", "Slots whose content was stored.",
                Of(stats.keeper.parked));
  page->Counter("cairn_slots_given_up_total", "Slots given up for want of room.",
                Of(stats.given_up));
  page->Counter("cairn_waited_for_reader_total",
                "Requests that let another read what both begin with.",
                Of(stats.waited_for_reader));
  page->Counter("cairn_warmed_tokens_total", "Prompt tokens read before anyone asked.",
                Of(stats.warmed_tokens));
  page->Counter("cairn_warmed_used_tokens_total",
                "Prompt tokens that requests were spared because they had been read ahead.",
                Of(stats.warmed_used_tokens));
  page->Counter("cairn_context_shifts_total",
                "Times that the older half of a full slot was dropped.", Of(stats.keeper.shifted));
  page->Gauge("cairn_sleeping", "1 while the model is unloaded.", stats.sleeping ? 1 : 0);
  page->Counter("cairn_sleeps_total", "Times the model was unloaded.", Of(stats.sleeps));
  page->Counter("cairn_wake_seconds_total", "Seconds of loading it again.",
                stats.wake_ms / kMsPerS);
  page->Gauge("cairn_checkpoints", "Checkpoints held.", Of(stats.cache.checkpoints));
  page->Gauge("cairn_segments", "Segments held.", Of(stats.cache.segments));
  page->Gauge("cairn_cache_bytes", "Bytes that the cache's budget counts.", Of(stats.cache.bytes));
  page->Counter("cairn_cache_evicted_total", "Things given up for room.", Of(stats.cache.evicted));
  page->Counter("cairn_cache_refused_total", "Things that found no room.", Of(stats.cache.refused));
  page->Gauge("cairn_cache_kept", "Checkpoints kept because a client marked them.",
              Of(stats.cache.kept));
  page->Counter("cairn_cache_keeps_refused_total", "Marks that would have kept too much.",
                Of(stats.cache.keeps_refused));
  page->Counter("cairn_cache_discarded_total", "Things that could not be set back.",
                Of(stats.cache.discarded));
}

void AddSaved(const SchedulerStats& stats, MetricsPage* page) {
  const SavedStats& saved = stats.saved;
  page->Gauge("cairn_disk_objects", "Files of the cache's folder that this model can use.",
              Of(saved.objects));
  page->Gauge("cairn_disk_bytes", "Bytes of all files in the cache's folder.", Of(saved.bytes));
  page->Gauge("cairn_disk_unsynced_bytes",
              "About so many bytes that are worth keeping would be lost if the power went now.",
              Of(saved.unsynced_bytes + stats.unsaved_bytes));
  page->Counter("cairn_disk_written_total", "Files written.", Of(saved.written));
  page->Counter("cairn_disk_written_bytes_total", "Bytes written.", Of(saved.written_bytes));
  page->Counter("cairn_disk_read_total", "Files read to go back to what they hold.",
                Of(saved.read));
  page->Counter("cairn_disk_read_bytes_total", "Bytes read for that.", Of(saved.read_bytes));
  page->Counter("cairn_disk_given_up_total", "Files removed for room.", Of(saved.given_up));
  page->Counter("cairn_disk_corrupt_total", "Files that did not say what they should.",
                Of(saved.corrupt));
  page->Counter("cairn_disk_errors_total", "Refusals of the file system.", Of(saved.errors));
  page->Counter("cairn_cache_released_total", "Things that left memory, as they are on disk.",
                Of(stats.cache.released));
  page->Counter("cairn_cache_taken_in_total", "Things found on disk, saved earlier or by others.",
                Of(stats.cache.taken_in));
  page->Counter("cairn_cache_lost_total", "Things that were on disk only, and are gone.",
                Of(stats.cache.lost));
}

void AddBoundaries(const SpanStats& spans, MetricsPage* page) {
  page->Head("cairn_boundaries_total",
             "User and tool messages by how well their begin was found in the prompt.", "counter");
  page->Sample("cairn_boundaries_total", R"({found="exact"})", Of(spans.boundaries_exact));
  page->Sample("cairn_boundaries_total", R"({found="earlier"})", Of(spans.boundaries_earlier));
  page->Sample("cairn_boundaries_total", R"({found="unknown"})", Of(spans.boundaries_unknown));
  page->Head("cairn_renders_total", "Renderings of the chat template, by what they were for.",
             "counter");
  page->Sample("cairn_renders_total", R"({of="prompts"})", Of(spans.prompts));
  page->Sample("cairn_renders_total", R"({of="boundaries"})", Of(spans.renders));
  page->Sample("cairn_renders_total", R"({of="newest_messages"})", Of(spans.short_renders));
}

}  // namespace

std::string MetricsText(const SchedulerStats& stats, const SpanStats& spans) {
  MetricsPage page;
  AddLlamaServers(stats, &page);
  AddOurs(stats, &page);
  AddSaved(stats, &page);
  AddBoundaries(spans, &page);
  return std::move(page).text();
}

}  // namespace cairn
