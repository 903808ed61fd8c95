// ScheduleTrace: writes the scheduler's work to TraceEvents (base/process/trace_events.h): what
// each step computed, on the context thread's track, and the life of each request, on tracks of
// slots.
//
//   context   | step            | step     | step    | …
//             | resume | prefill| prefill  | decode  |
//   requests  | queued |
//   slot 0             | request 7                              |
//                      | resume | prefill            | answer   |
//
// It records durations, counts and fixed words, but no tokens and no text.
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_ANSWER_SCHEDULE_TRACE_H_
#define CAIRN_SCHED_ANSWER_SCHEDULE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/process/trace_events.h"
#include "base/provenance.h"
#include "engine/engine.h"
#include "sched/answer/generation.h"
#include "sched/answer/reuse_report.h"

namespace cairn {

// Returns the trace arguments of a resume path.
TraceArgs TraceArgsOf(const ReuseReport& report);

class ScheduleTrace {
 public:
  struct Answer {
    uint64_t number = 0;   // unique among all answers of all requests
    double queued_ms = 0;  // when it entered the queue
  };
  struct Counts {
    size_t running = 0;
    size_t waiting = 0;
    size_t slot_tokens = 0;
    size_t cache_bytes = 0;
  };

  // `events` must outlive this object. nullptr: all functions do nothing.
  ScheduleTrace(TraceEvents* events, size_t slots);

  bool on() const { return events_ != nullptr; }
  // Begins a span of the context thread. `name` outlives the span.
  TraceSpan Span(std::string_view name) { return {events_, name}; }

  // These end the span passed to them, which began before the work.
  void EndChunk(TraceSpan* piece, size_t slot, const TokenRange& read);
  // One of several chunks that are computed together. Drop the span behind the last one.
  void AddChunk(const TraceSpan& together, size_t slot, const TokenRange& read);
  void EndDecode(TraceSpan* decode, std::span<const NextToken> tokens);
  void EndPrefetch(TraceSpan* prefetch, size_t slot, const TokenRange& read);
  // Ends the step's span with what was computed in it. `busy`: there was something to do.
  void EndStep(TraceSpan* step, bool busy);

  // An answer leaves the queue: for a slot, or, if `end` is not empty, for good.
  void OnLeavesQueue(const Answer& answer, std::string_view end = {});
  // The stages of a request: it is about to get a slot; it has one and was advanced along its
  // prompt; the rest of its prompt is computed.
  void OnSlotWanted();
  void OnResumed(size_t slot, const ReuseReport& report);
  void OnPrefilled(size_t slot);
  void OnLeavesSlot(size_t slot, const Answer& answer, const GenerationCost& cost,
                    std::string_view end);

  void OnCounts(const Counts& counts);
  void OnSleep(bool asleep);

 private:
  // The progress of a slot's request.
  struct Life {
    double wanted_ms = 0;
    double resumed_ms = 0;
    std::optional<double> prefilled_ms = {};
    size_t chunk_tokens = 0;
  };

  static TraceTrack TrackOf(size_t slot);
  void CountChunk(size_t slot, size_t tokens);

  TraceEvents* const events_;
  std::vector<Life> lives_;
  double wanted_ms_ = 0;
  double resuming_ms_ = 0;
  std::optional<Counts> counts_;
  // Totals of the present step.
  size_t prefill_tokens_ = 0;
  std::vector<size_t> prefill_slots_;
  std::vector<size_t> decode_slots_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_SCHEDULE_TRACE_H_
