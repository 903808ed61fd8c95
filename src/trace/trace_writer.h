// TraceWriter: what a server was asked, as lines that `cairn-lab sim` replays: lengths, times, and
// numbers that say how far requests agree (trace/sequence_numbers.h). No text, no token, no key.
// docs/traces.md has the format.
//
//   Scheduler ── OnAnswerEnd ──> [ queue ] ──> writer thread: number, format, append
//
// Nothing here can fail a request. A line that cannot be written is counted and the first is said;
// if the disk cannot keep up, lines are lost and counted too. Each line is one write, so a crash
// leaves at most one torn line; a writer that finds one begins its own on a new line.
//
// Threads: OnAnswerEnd from one thread, the rest from any.

#ifndef CAIRN_TRACE_TRACE_WRITER_H_
#define CAIRN_TRACE_TRACE_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/tokens.h"
#include "sched/answer/request_observer.h"
#include "trace/sequence_numbers.h"

namespace cairn {

struct TraceWriterOptions {
  // Tokens that are remembered, to see what later requests share with them; four bytes each.
  size_t tokens_max = size_t{32} << 20U;
  // Answers that may wait for the disk; more are lost.
  size_t queue_max = 256;
  LogSink log = {};  // may be empty; called by the writer's thread
};

class TraceWriter final : public RequestObserver {
 public:
  // Since the start, of requests.
  struct Stats {
    uint64_t written = 0;
    uint64_t lost = 0;
  };

  // Appends to what `path` holds, after the last of its times; makes the file (mode 0600) if there
  // is none. kUnavailable: it cannot be opened, or another server writes to it. kInvalidArgument:
  // it holds something else.
  static Result<std::unique_ptr<TraceWriter>> Open(const std::string& path,
                                                   TraceWriterOptions options = {});
  // Writes what waits.
  ~TraceWriter() override;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void OnAnswerEnd(const EndedAnswer& answer) override;

  // Waits until all that ended so far is written or lost.
  void Flush();
  Stats stats() const;

 private:
  // An answer that ended, and the prompt it is to.
  struct Ended {
    uint64_t request = 0;
    size_t answer = 0;
    size_t answers = 1;
    uint32_t name_space = 0;
    PromptShape shape;
    Tokens tokens;  // the prompt's, then its own
    size_t prompt_tokens = 0;
    EndedBy ended_by = EndedBy::kModel;
    bool reuse = true;
    std::optional<size_t> slot;
    size_t processed_tokens = 0;
    double submitted_ms = 0;
    GenerationCost cost;
  };
  // A file as an earlier server left it.
  struct Found {
    uint64_t next_number = 0;
    uint64_t next_conversation = 0;
    uint64_t next_ms = 0;
    bool torn = false;
  };

  TraceWriter(int fd, const std::string& path, const Found& found, TraceWriterOptions options);
  static Result<Found> ReadFound(const std::string& path);

  void Run();
  void Write(std::vector<Ended> request);
  std::string ToLine(const std::vector<Ended>& request);
  uint64_t ConversationOf(const Ended& ended, const std::vector<BlockRange>& numbers);
  bool Append(const std::string& line);
  void Lose(const std::string& why);

  const int fd_;
  const std::string path_;
  const TraceWriterOptions options_;

  // Of the writer's thread.
  SequenceNumbers numbers_;
  std::map<uint32_t, uint64_t> conversations_;  // by a number that only their prompts have
  uint64_t next_conversation_;
  const uint64_t begin_ms_;
  std::optional<double> first_submitted_ms_;
  std::map<uint32_t, size_t> name_spaces_;             // numbered as they come
  std::map<uint64_t, std::vector<Ended>> unfinished_;  // requests with answers still to end
  bool torn_;                                          // the file ends within a line

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ended> queue_;  // guarded by mutex_
  bool writing_ = false;     // guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
  Stats stats_;              // guarded by mutex_
  std::thread thread_;       // last: it uses all that is above
};

}  // namespace cairn

#endif  // CAIRN_TRACE_TRACE_WRITER_H_
