// RequestLog: the last requests, each with the reuse of its prompt and an explanation
// (api/record/explanation.h).
//
// Threads: any. The thread that answers a request updates its entry; others get copies.

#ifndef CAIRN_API_RECORD_REQUEST_LOG_H_
#define CAIRN_API_RECORD_REQUEST_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "api/record/doctor.h"
#include "api/record/explanation.h"
#include "api/record/volatile_hints.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/generation.h"

namespace cairn {

class RequestLog;

// Receives the log entry of one request: a line without a newline, and the same figures as fields.
// Neither contains text of a prompt or an answer. Any thread.
using RequestSink = std::function<void(std::string_view line, const Json& fields)>;

// RequestRecord: one request of the log.
class RequestRecord {
 public:
  struct Begun {
    std::string id;
    std::string api;  // path of the route
    NamespaceId name_space = 0;
    int64_t begun_unix_s = 0;
    std::string agent = {};  // as the client calls itself
    std::string model = {};
  };
  enum class State : uint8_t { kWaiting, kAnswering, kDone, kCancelled, kFailed };

  // Call when the prompt got its slot. Later calls change nothing.
  void OnReport(const ReuseReport& report);
  void OnEnd(State state, const GenerationCost& cost);
  // Returns the `cairn` object of the answer: the explanation if it was asked for, what was
  // loosened or left out, and which values are told late. Null before the request has a slot.
  Json Told() const;
  // Whether the answer has a `cairn` object. `explain`: the request asked for it.
  bool Tells(bool explain);
  // Returns the x-cairn-… headers: names and values without line ends. Empty before the request has
  // a slot.
  std::vector<std::pair<std::string, std::string>> Headers() const;

 private:
  friend class RequestLog;
  RequestRecord(RequestLog* log, Begun begun, ExplainedPrompt prompt, const Engine* engine);
  // Whether to include the prompt's messages, of which there may be thousands, and its media.
  enum class Detail : uint8_t { kWithoutMessages, kAll };
  Json ToJson(Detail detail) const REQUIRES(*mutex_);
  Json ReportJson(Detail detail) const REQUIRES(*mutex_);
  Json MediaJson() const REQUIRES(*mutex_);
  std::string Line() const REQUIRES(*mutex_);
  Json Fields() const REQUIRES(*mutex_);
  Doctor::Client Client() const { return {begun_.name_space, begun_.agent, begun_.model}; }

  RequestLog* const log_;
  Mutex* const mutex_;  // the log's
  const Begun begun_;
  const Engine* const engine_;
  const std::vector<std::string> loosened_;
  const std::vector<std::string> left_out_;
  const std::string cache_key_;
  const size_t marked_tokens_;
  const std::vector<LateValue> late_values_;
  ExplainedPrompt prompt_ GUARDED_BY(*mutex_);  // released once it is explained
  bool explains_ GUARDED_BY(*mutex_) = true;
  State state_ GUARDED_BY(*mutex_) = State::kWaiting;
  std::optional<ReuseReport> report_ GUARDED_BY(*mutex_);
  Explanation explanation_ GUARDED_BY(*mutex_);
  Diagnosis diagnosis_ GUARDED_BY(*mutex_);
  GenerationCost cost_ GUARDED_BY(*mutex_);
};

class RequestLog {
 public:
  explicit RequestLog(size_t records_max = 1000) : records_max_(records_max) {}
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // Sets the sink for a line per finished request; may be empty. Call before any request.
  void SetLog(RequestSink log) { log_ = std::move(log); }
  // Sets the sink for a line per value that keeps changing in prompts
  // (api/record/volatile_hints.h); may be empty. `tells_late`: VolatileHints::SetTellsLate. Call
  // before any request.
  void SetHintLog(LogSink log, bool tells_late = false) {
    hint_log_ = std::move(log);
    const MutexLock lock(mutex_);
    hints_.SetTellsLate(tells_late);
  }
  // `engine` outlives the record.
  std::shared_ptr<RequestRecord> Begin(RequestRecord::Begun begun, ExplainedPrompt prompt,
                                       const Engine* engine);
  // Returns the number of requests since the start by explanation.
  std::map<Explanation::Why, uint64_t> whys() const;
  // It knows what the requests of each client cost over the last hours, and why.
  const Doctor& doctor() const { return doctor_; }
  // Returns the client's own requests, newest first, at most `limit`.
  Json List(NamespaceId name_space, size_t limit) const;
  // Returns 404 if there is no such request, or it belongs to another client.
  ApiResult<std::string> Find(std::string_view id, NamespaceId name_space) const;
  // Returns the thumbnail of a request's medium, a PNG file. `index` counts its media, in decimal
  // digits. Returns 404 also if the medium has none, or has it no longer.
  ApiResult<std::shared_ptr<const Bytes>> FindThumbnail(std::string_view id, std::string_view index,
                                                        NamespaceId name_space) const;

 private:
  friend class RequestRecord;

  ApiResult<const RequestRecord*> FindRecord(std::string_view id, NamespaceId name_space) const
      REQUIRES(mutex_);

  const size_t records_max_;
  RequestSink log_;
  LogSink hint_log_;
  Doctor doctor_;
  mutable Mutex mutex_;
  VolatileHints hints_ GUARDED_BY(mutex_);
  std::map<Explanation::Why, uint64_t> whys_ GUARDED_BY(mutex_);
  std::list<std::shared_ptr<RequestRecord>> records_ GUARDED_BY(mutex_);  // newest first
};

// Adds the `cairn` object to an answer or to an event of a stream. Does nothing if `record` is
// null, when the request did not ask for an explanation.
void AddExplanation(const std::shared_ptr<const RequestRecord>& record, Json* told);

// Lets the record follow the request's first answer. Call before the first Next.
void Watch(std::shared_ptr<RequestRecord> record, Generation* generation);

// Returns the parameter `limit` of GET /cairn/requests, or the usual one.
ApiResult<size_t> RequestsLimit(const std::multimap<std::string, std::string>& params);

// Merges two lists of that answer's requests, each newest first, up to `limit`.
Json MergedRequests(const Json& a, const Json& b, size_t limit);

// GET /cairn/doctor, with `hours`: see Doctor::Report.
ApiResult<std::string> DoctorBody(const RequestLog& log,
                                  const std::multimap<std::string, std::string>& params,
                                  NamespaceId name_space, int64_t now_unix_s);

// GET /cairn/requests, with `limit`. `refused`: lists of refused requests to show among them, each
// newest first (api/admin/refusals.h).
ApiResult<std::string> RequestsBody(const RequestLog& log,
                                    const std::multimap<std::string, std::string>& params,
                                    NamespaceId name_space, const std::vector<Json>& refused = {});

}  // namespace cairn

#endif  // CAIRN_API_RECORD_REQUEST_LOG_H_
