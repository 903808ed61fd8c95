// RequestLog: the last requests, each with what became of its prompt and why
// (api/admin/explanation.h).
//
// Threads: any. An entry is told by the thread that answers its request; others see copies.

#ifndef CAIRN_API_ADMIN_REQUEST_LOG_H_
#define CAIRN_API_ADMIN_REQUEST_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/explanation.h"
#include "api/api_error.h"
#include "api/json.h"
#include "api/prompt/volatile_hints.h"
#include "base/log.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/generation.h"

namespace cairn {

class RequestLog;

// Takes what a log says of one request: a line without its newline, and the same as fields. Neither
// has a prompt's or an answer's text. Any thread.
using RequestSink = std::function<void(std::string_view line, const Json& fields)>;

// One request on its way.
class RequestRecord {
 public:
  struct Begun {
    std::string id;
    std::string api;  // the path it came by
    NamespaceId name_space = 0;
    int64_t begun_unix_s = 0;
  };
  enum class State : uint8_t { kWaiting, kAnswering, kDone, kCancelled, kFailed };

  // The prompt was given a slot. Later calls change nothing.
  void OnReport(const ReuseReport& report);
  void OnEnd(State state, const GenerationCost& cost);
  // What of it may be told the client: the `cairn` object of an answer. Null: it has no slot yet.
  Json Told() const;
  // In short, for headers: names and values, without line ends. None before it has a slot.
  std::vector<std::pair<std::string, std::string>> Headers() const;

 private:
  friend class RequestLog;
  RequestRecord(RequestLog* log, Begun begun, ExplainedPrompt prompt, const Engine* engine);
  // Whether the messages of the prompt are told: there may be thousands.
  enum class Detail : uint8_t { kWithoutMessages, kAll };
  Json ToJson(Detail detail) const;  // the lock is held
  Json ReportJson(Detail detail) const;
  std::string Line() const;
  Json Fields() const;

  RequestLog* const log_;
  const Begun begun_;
  const Engine* const engine_;
  // The rest is guarded by the log's mutex.
  ExplainedPrompt prompt_;  // let go once it is explained
  State state_ = State::kWaiting;
  std::optional<ReuseReport> report_;
  Explanation explanation_;
  GenerationCost cost_;
};

class RequestLog {
 public:
  explicit RequestLog(size_t records_max = 1000) : records_max_(records_max) {}
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // A line for each request that has ended; may be empty. Before any request.
  void SetLog(RequestSink log) { log_ = std::move(log); }
  // A line for each value that keeps changing in prompts (api/prompt/volatile_hints.h); may be
  // empty. Before any request.
  void SetHintLog(LogSink log) { hint_log_ = std::move(log); }
  // `engine` outlives the record.
  std::shared_ptr<RequestRecord> Begin(RequestRecord::Begun begun, ExplainedPrompt prompt,
                                       const Engine* engine);
  // How many requests since the start were explained so.
  std::map<Explanation::Why, uint64_t> whys() const;
  // The client's own, newest first, `limit` at most.
  Json List(NamespaceId name_space, size_t limit) const;
  // 404 where there is none, or it is another client's.
  ApiResult<std::string> Find(std::string_view id, NamespaceId name_space) const;

 private:
  friend class RequestRecord;

  const size_t records_max_;
  RequestSink log_;
  LogSink hint_log_;
  mutable std::mutex mutex_;
  VolatileHints hints_;                                // guarded by mutex_
  std::map<Explanation::Why, uint64_t> whys_;          // guarded by mutex_
  std::list<std::shared_ptr<RequestRecord>> records_;  // newest first; guarded by mutex_
};

// Adds the record's `cairn` to an answer, or to a stream's event. Null: nobody asked for it.
void AddExplanation(const std::shared_ptr<const RequestRecord>& record, Json* told);

// Has the record hear all of the request's answer. Before the first Next.
void Watch(std::shared_ptr<RequestRecord> record, Generation* generation);

// GET /cairn/requests, with `limit`.
ApiResult<std::string> RequestsBody(const RequestLog& log,
                                    const std::multimap<std::string, std::string>& params,
                                    NamespaceId name_space);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_REQUEST_LOG_H_
