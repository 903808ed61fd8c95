// TraceWriter: records the requests to a server as lines that `cairn-lab sim` replays: lengths,
// times, and numbers that say which prefixes requests share (trace/sequence_numbers.h). It records
// no text, token or key. docs/traces.md specifies the format.
//
//   Scheduler ── OnAnswerEnd ──> [ queue ] ──> writer thread: number, format, append
//
// Nothing here can fail a request. A line that cannot be written is counted, and the first one is
// logged. If the disk cannot keep up, lines are lost and counted too. Each line is a single write,
// so a crash leaves at most one torn line; a writer that finds one starts its own on a new line.
//
// Threads: OnAnswerEnd from one thread, the rest from any.

#ifndef CAIRN_TRACE_TRACE_WRITER_H_
#define CAIRN_TRACE_TRACE_WRITER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/tokens.h"
#include "sched/answer/request_observer.h"
#include "trace/sequence_numbers.h"

namespace cairn {

struct TraceWriterOptions {
  // Number of tokens kept to find what later requests share with them; four bytes each.
  size_t tokens_max = size_t{32} << 20U;
  // Number of answers that may wait for the disk; more are lost.
  size_t queue_max = 256;
  LogSink log = {};  // may be empty; called by the writer's thread
};

class TraceWriter final : public RequestObserver {
 public:
  // Numbers of requests since the start.
  struct Stats {
    uint64_t written = 0;
    uint64_t lost = 0;
  };

  // Appends to the file at `path`, with times after the last one in it; creates the file (mode
  // 0600) if there is none. Returns kUnavailable if it cannot be opened or another server writes to
  // it, and kInvalidArgument if it holds something else.
  static Result<std::unique_ptr<TraceWriter>> Open(const std::string& path,
                                                   TraceWriterOptions options = {});
  // Writes the queued answers.
  ~TraceWriter() override;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void OnAnswerEnd(const EndedAnswer& answer) override;

  // Waits until all answers that have ended so far are written or lost.
  void Flush();
  Stats stats() const;

 private:
  // An answer that has ended, with its prompt.
  struct Ended {
    uint64_t request = 0;
    size_t answer = 0;
    size_t answers = 1;
    NamespaceId name_space = 0;
    PromptShape shape;
    Tokens tokens;  // the prompt's, then the answer's
    size_t prompt_tokens = 0;
    EndedBy ended_by = EndedBy::kModel;
    bool reuse = true;
    std::optional<size_t> slot;
    size_t processed_tokens = 0;
    double submitted_ms = 0;
    GenerationCost cost;
  };
  // The content of a file that an earlier server left.
  struct Found {
    uint64_t next_number = 0;
    uint64_t next_conversation = 0;
    uint64_t next_ms = 0;
    bool torn = false;
  };

  TraceWriter(int fd, const std::string& path, const Found& found, TraceWriterOptions options);
  static Result<Found> ReadFound(const std::string& path);

  void Run();
  // Writes the request of an answer, if it is its last one.
  void Take(Ended ended);
  void Write(std::vector<Ended> request);
  std::string ToLine(const std::vector<Ended>& request);
  uint64_t ConversationOf(const Ended& ended, const std::vector<BlockRange>& numbers);
  bool Append(const std::string& line);
  void Lose(const std::string& why);

  const int fd_;
  const std::string path_;
  const TraceWriterOptions options_;

  // Used by the writer's thread only.
  SequenceNumbers numbers_;
  std::map<uint32_t, uint64_t> conversations_;  // by a number that occurs only in their prompts
  uint64_t next_conversation_;
  const uint64_t begin_ms_;
  std::optional<double> first_submitted_ms_;
  std::map<NamespaceId, size_t> name_spaces_;          // numbered in order of appearance
  std::map<uint64_t, std::vector<Ended>> unfinished_;  // requests that have answers still to end
  bool torn_;                                          // the file ends within a line

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Ended> queue_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Stats stats_ GUARDED_BY(mutex_);
  std::thread thread_;  // last: uses the members above
};

}  // namespace cairn

#endif  // CAIRN_TRACE_TRACE_WRITER_H_
