// TraceEvents: what the server does and when, as a file that ui.perfetto.dev shows: Chrome's JSON
// trace events, one a line. docs/metrics.md says what is in it.
//
//   [
//   {"name":"process_name","ph":"M", …}
//   ,{"name":"step","ph":"X","ts":12.500,"dur":3.250, …}   a span, when it ends
//   ]                                                      at an orderly end
//
// The format allows the last bracket to be missing, so a killed process leaves a file that opens;
// with the bracket added to its whole lines it is JSON.
//
// Who has something to tell is handed a pointer, null where nobody asked: then a TraceSpan is one
// test of it. Otherwise an event is a line put into memory. A thread of its own writes the lines,
// several times a second: a stream's buffer would make the scheduler wait whenever it is full and
// the disk is slow. While the disk is slower than the events, some are lost, counted, and marked.
//
// No text of prompts or answers may go in: names and texts are words of the program.
//
// Threads: any.

#ifndef CAIRN_BASE_TRACE_EVENTS_H_
#define CAIRN_BASE_TRACE_EVENTS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"

namespace cairn {

// A line of the picture. What lies on one must be nested. Both numbers are those of a thread, or
// greater than any thread's: no two tracks may have the same `thread`.
struct TraceTrack {
  uint32_t process = 0;
  uint32_t thread = 0;

  friend bool operator==(const TraceTrack&, const TraceTrack&) = default;
};
// No process and no thread has this number or a greater one.
inline constexpr uint32_t kTraceNumbersFree = 5'000'000;

// What is said of an event.
class TraceArgs {
 public:
  TraceArgs& Add(std::string_view key, uint64_t value);
  TraceArgs& Add(std::string_view key, std::string_view value);
  TraceArgs& Add(std::string_view key, std::span<const size_t> values);
  TraceArgs& Add(const TraceArgs& more);
  const std::string& json() const { return json_; }  // the inside of an object

 private:
  void AddKey(std::string_view key);

  std::string json_;
};

struct TraceEventsOptions {
  // What may wait for the disk; more is lost.
  size_t waiting_bytes_max = size_t{8} << 20;
  // Of the file; more than that few viewers open.
  uint64_t file_bytes_max = uint64_t{1} << 30;
  std::string_view process_name = "cairn serve";
  LogSink log = {};  // may be empty; called by the writer's thread
};

class TraceEvents {
 public:
  // Since the start.
  struct Stats {
    uint64_t written = 0;
    uint64_t lost = 0;
  };

  // Makes the file (mode 0600), in place of an earlier one of this kind. `fs` and `clock` outlive
  // it. Errors of the file system; kInvalidArgument: `path` holds something else.
  static Result<std::unique_ptr<TraceEvents>> Open(Fs* fs, const std::string& path,
                                                   const Clock* clock,
                                                   TraceEventsOptions options = {});
  // Writes what waits, and the end.
  ~TraceEvents();
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;

  double NowMs() const { return clock_->NowMs(); }
  // The calling thread's.
  TraceTrack OwnTrack() const;
  // How the calling thread is called.
  void NameThread(std::string_view name);
  void NameTrack(const TraceTrack& track, std::string_view process, std::string_view thread);

  // All times are the clock's.
  void Span(const TraceTrack& track, std::string_view name, double begin_ms, double end_ms,
            const TraceArgs& args = {});
  // A span of a process that may overlap others of its name. `id` tells it from those.
  void LooseSpan(uint32_t process, std::string_view name, uint64_t id, double begin_ms,
                 double end_ms, const TraceArgs& args = {});
  // On the calling thread's track.
  void Instant(std::string_view name, const TraceArgs& args = {});
  // What `values`, all of them numbers, are from now on.
  void Counter(std::string_view name, const TraceArgs& values);

  // Waits until all that was told so far is written or lost.
  void Flush();
  Stats stats() const;

 private:
  // Why events are lost, the worst last.
  enum class Loss : uint8_t { kNone, kSlow, kFull, kBroken };

  TraceEvents(std::unique_ptr<FileWriter> file, std::string path, const Clock* clock,
              uint64_t file_bytes, TraceEventsOptions options);

  // `end`: whatever follows the common members, each with a comma before it.
  void Event(char phase, const TraceTrack& track, std::string_view name, double ms,
             std::string_view end, const TraceArgs& args);
  void Put(std::string_view line, double ms);
  void Run();
  // What waits, with a mark of what was lost. REQUIRES: mutex_ is held.
  void Take(std::string* lines);
  void Say(Loss loss, const std::string& why) const;
  int64_t SinceBeginNs(double ms) const;

  const std::unique_ptr<FileWriter> file_;
  const std::string path_;
  const Clock* const clock_;
  const double begin_ms_;
  const uint32_t process_;
  const TraceEventsOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;          // guarded by mutex_
  uint64_t waiting_events_ = 0;  // guarded by mutex_; in waiting_
  uint64_t unmarked_ = 0;        // guarded by mutex_; lost, and not told in the file
  int64_t lost_ns_ = 0;          // guarded by mutex_; when the last one was
  uint64_t file_bytes_ = 0;      // guarded by mutex_; what waits included
  bool writing_ = false;         // guarded by mutex_
  bool flushing_ = false;        // guarded by mutex_
  bool stopping_ = false;        // guarded by mutex_
  Loss loss_ = Loss::kNone;      // guarded by mutex_
  Stats stats_;                  // guarded by mutex_
  std::thread thread_;           // last: it uses all that is above
};

// A span from here to the end of the scope, on the calling thread's track. `events` may be null:
// then it is nothing at all.
class TraceSpan {
 public:
  // `name` outlives it.
  TraceSpan(TraceEvents* events, std::string_view name) : events_(events), name_(name) {
    if (events_ != nullptr) begin_ms_ = events_->NowMs();
  }
  ~TraceSpan() { End(); }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  // Whether anybody wants to know; to be asked where what is added costs something.
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
  // Before the scope does.
  void End() {
    if (events_ == nullptr) return;
    events_->Span(events_->OwnTrack(), name_, begin_ms_, events_->NowMs(), args_);
    events_ = nullptr;
  }
  // There was nothing to tell.
  void Drop() { events_ = nullptr; }

 private:
  TraceEvents* events_;
  std::string_view name_;
  double begin_ms_ = 0;
  TraceArgs args_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_TRACE_EVENTS_H_
