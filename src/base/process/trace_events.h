// TraceEvents: records what the server does and when, in a file for ui.perfetto.dev: Chrome's JSON
// trace events, one per line. docs/metrics.md lists the events.
//
//   [
//   {"name":"process_name","ph":"M", …}
//   ,{"name":"step","ph":"X","ts":12.500,"dur":3.250, …}   a span, written when it ends
//   ]                                                      written at an orderly end
//
// The format allows the last bracket to be missing, so the file of a killed process still opens;
// with the bracket appended to its complete lines it is valid JSON.
//
// Code that records events holds a pointer that is null when tracing is off; a TraceSpan then costs
// one test of the pointer. Otherwise an event is a line appended to memory. A separate thread
// writes the lines several times a second: with a stream's buffer the scheduler would wait whenever
// the buffer is full and the disk is slow. If the disk is slower than the events, some events are
// lost, counted, and marked in the file.
//
// Text of prompts or answers must not be recorded: names and texts are constants of the program.
//
// Threads: any.

#ifndef CAIRN_BASE_PROCESS_TRACE_EVENTS_H_
#define CAIRN_BASE_PROCESS_TRACE_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

// A row of the timeline. The spans of one track must be nested. Each number is either that of a
// process or thread, or greater than any of those: no two tracks may have the same `thread`.
struct TraceTrack {
  uint32_t process = 0;
  uint32_t thread = 0;

  friend bool operator==(const TraceTrack&, const TraceTrack&) = default;
};
// No process and no thread has this number or a greater one.
inline constexpr uint32_t kTraceNumbersFree = 5'000'000;

// The arguments of an event.
class TraceArgs {
 public:
  TraceArgs& Add(std::string_view key, uint64_t value);
  TraceArgs& Add(std::string_view key, std::string_view value);
  TraceArgs& Add(std::string_view key, std::span<const size_t> values);
  TraceArgs& Add(const TraceArgs& more);
  const std::string& json() const { return json_; }  // the members of an object, without braces

 private:
  void AddKey(std::string_view key);

  std::string json_;
};

struct TraceEventsOptions {
  // Limit for lines that wait to be written; events beyond it are lost.
  size_t waiting_bytes_max = size_t{8} << 20;
  // Limit for the file; few viewers open larger ones.
  uint64_t file_bytes_max = uint64_t{1} << 30;
  std::string_view process_name = "cairn serve";
  LogSink log = {};  // may be empty; called by the writer's thread
};

class TraceEvents {
 public:
  // Counters since the start.
  struct Stats {
    uint64_t written = 0;
    uint64_t lost = 0;
  };

  // Creates the file (mode 0600), replacing an earlier trace. `fs` and `clock` outlive the object.
  // Returns the errors of the file system, and kInvalidArgument if `path` holds something else.
  static Result<std::unique_ptr<TraceEvents>> Open(Fs* fs, const std::string& path,
                                                   const Clock* clock,
                                                   TraceEventsOptions options = {});
  // Writes the waiting lines and the closing bracket.
  ~TraceEvents();
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;

  double NowMs() const { return clock_->NowMs(); }
  // The calling thread's track.
  TraceTrack OwnTrack() const;
  // Names the calling thread.
  void NameThread(std::string_view name);
  void NameTrack(const TraceTrack& track, std::string_view process, std::string_view thread);

  // All times are those of the clock.
  void Span(const TraceTrack& track, std::string_view name, double begin_ms, double end_ms,
            const TraceArgs& args = {});
  // Records a span of a process that may overlap others of the same name; `id` tells them apart.
  void LooseSpan(uint32_t process, std::string_view name, uint64_t id, double begin_ms,
                 double end_ms, const TraceArgs& args = {});
  // Records an instant on the calling thread's track.
  void Instant(std::string_view name, const TraceArgs& args = {});
  // Records the current values of a counter; all `values` must be numbers.
  void Counter(std::string_view name, const TraceArgs& values);

  // Waits until all events so far are written or lost.
  void Flush();
  Stats stats() const;

 private:
  // Reasons why events are lost, in order of severity.
  enum class Loss : uint8_t { kNone, kSlow, kFull, kBroken };

  TraceEvents(std::unique_ptr<FileWriter> file, std::string path, const Clock* clock,
              uint64_t file_bytes, TraceEventsOptions options);

  // `end` holds further members of the event, each preceded by a comma.
  void Event(char phase, const TraceTrack& track, std::string_view name, double ms,
             std::string_view end, const TraceArgs& args);
  void Put(std::string_view line, double ms);
  void Run();
  // Takes the waiting lines, with a mark for lost events.
  void Take(std::string* lines) REQUIRES(mutex_);
  Status TryAppend(const std::string& lines) const;
  void Say(Loss loss, const std::string& why) const;
  int64_t SinceBeginNs(double ms) const;

  const std::unique_ptr<FileWriter> file_;
  const std::string path_;
  const Clock* const clock_;
  const double begin_ms_;
  const uint32_t process_;
  const TraceEventsOptions options_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::string waiting_ GUARDED_BY(mutex_);
  uint64_t waiting_events_ GUARDED_BY(mutex_) = 0;  // number of events in waiting_
  uint64_t unmarked_ GUARDED_BY(mutex_) = 0;        // lost, and not yet marked in the file
  int64_t lost_ns_ GUARDED_BY(mutex_) = 0;          // time of the last lost event
  uint64_t file_bytes_ GUARDED_BY(mutex_) = 0;      // includes the waiting lines
  bool writing_ GUARDED_BY(mutex_) = false;
  bool flushing_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Loss loss_ GUARDED_BY(mutex_) = Loss::kNone;
  Stats stats_ GUARDED_BY(mutex_);
  std::thread thread_;  // last: uses the members above
};

// Records a span from its construction to the end of the scope, on the calling thread's track. Does
// nothing if `events` is null.
class TraceSpan {
 public:
  // `name` outlives the span.
  TraceSpan(TraceEvents* events, std::string_view name) : events_(events), name_(name) {
    if (events_ != nullptr) begin_ms_ = events_->NowMs();
  }
  ~TraceSpan() { End(); }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  // Whether tracing is on; to be checked where computing an argument is expensive.
  bool on() const { return events_ != nullptr; }
  template <typename Value>
  TraceSpan& Add(std::string_view key, const Value& value) {
    if (events_ != nullptr) args_.Add(key, value);
    return *this;
  }
  TraceSpan& Add(const TraceArgs& more) {
    if (events_ != nullptr) args_.Add(more);
    return *this;
  }
  // REQUIRES: on().
  double begin_ms() const { return begin_ms_; }
  // Ends the span before the scope ends.
  void End() {
    if (events_ == nullptr) return;
    events_->Span(events_->OwnTrack(), name_, begin_ms_, events_->NowMs(), args_);
    events_ = nullptr;
  }
  // Discards the span.
  void Drop() { events_ = nullptr; }

 private:
  TraceEvents* events_;
  std::string_view name_;
  double begin_ms_ = 0;
  TraceArgs args_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_PROCESS_TRACE_EVENTS_H_
