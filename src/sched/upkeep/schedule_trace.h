// ScheduleTrace: what the scheduler does, told to TraceEvents (base/trace_events.h): what each step
// computed, on the context thread's track, and what became of each request, on tracks of slots.
//
//   context   | step            | step     | step    | …
//             | resume | prefill| prefill  | decode  |
//   requests  | queued |
//   slot 0             | request 7                              |
//                      | resume | prefill            | answer   |
//
// Lengths, counts and words of ours: no token and no text.
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_UPKEEP_SCHEDULE_TRACE_H_
#define CAIRN_SCHED_UPKEEP_SCHEDULE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/provenance.h"
#include "base/trace_events.h"
#include "engine/engine.h"
#include "sched/answer/generation.h"
#include "sched/answer/reuse_report.h"

namespace cairn {

// What is told of a resume path.
TraceArgs TraceArgsOf(const ReuseReport& report);

class ScheduleTrace {
 public:
  struct Answer {
    uint64_t number = 0;   // of this answer of a request, and no other
    double queued_ms = 0;  // since when it waits, or waited
  };
  struct Counts {
    size_t running = 0;
    size_t waiting = 0;
    size_t slot_tokens = 0;
    size_t cache_bytes = 0;
  };

  // `events` outlives it. Null: nothing is told, and nothing done.
  ScheduleTrace(TraceEvents* events, size_t slots);

  bool on() const { return events_ != nullptr; }

  // Each ends its span, which began before what it tells of.
  void EndChunk(TraceSpan* piece, size_t slot, const TokenRange& read);
  void EndDecode(TraceSpan* decode, std::span<const NextToken> tokens);
  void EndPrefetch(TraceSpan* prefetch, size_t slot, const TokenRange& read);
  // With what was computed in it. `busy`: there was something to do.
  void EndStep(TraceSpan* step, bool busy);

  // An answer leaves the queue: for a slot, or, if `end` says so, for good.
  void OnLeavesQueue(const Answer& answer, std::string_view end = {});
  // It is about to get one; then it has, was brought along its prompt, and has read the rest.
  void OnSlotWanted();
  void OnResumed(size_t slot, const ReuseReport& report);
  void OnPrefilled(size_t slot);
  void OnLeavesSlot(size_t slot, const Answer& answer, const GenerationCost& cost,
                    std::string_view end);

  void OnCounts(const Counts& counts);
  void OnSleep(bool asleep);

 private:
  // A slot's request, as far as it came.
  struct Life {
    double wanted_ms = 0;
    double resumed_ms = 0;
    std::optional<double> prefilled_ms = {};
    size_t chunk_tokens = 0;
  };

  static TraceTrack TrackOf(size_t slot);

  TraceEvents* const events_;
  std::vector<Life> lives_;
  double wanted_ms_ = 0;
  double resuming_ms_ = 0;
  std::optional<Counts> counts_;
  // Of this step.
  size_t prefill_tokens_ = 0;
  std::vector<size_t> prefill_slots_;
  std::vector<size_t> decode_slots_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_SCHEDULE_TRACE_H_
