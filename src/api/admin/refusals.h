// Refusals: the requests that a server refused with an error, so that their owner sees them:
// counted by status and route, one line each in the log, and the last ones of each client in a
// list.
//
// A client that is refused again and again can fill neither the log, because the lines of each
// status have a rate, nor the list, because each client has its own. No route that a client makes
// up becomes a label.
//
// Threads: any, after SetLog().

#ifndef CAIRN_API_ADMIN_REFUSALS_H_
#define CAIRN_API_ADMIN_REFUSALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/admin/metrics_page.h"
#include "api/json.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

struct Refusal {
  int status = 0;
  std::string_view method;  // as the client sent it
  std::string_view path;    // likewise, decoded; empty: it could not be read
  std::string_view route;   // "POST /slots/:id"; empty: none
  std::string_view message;
  std::string_view remote;     // the client's address
  NamespaceId name_space = 0;  // of the client's key; 0: none
};

// Numbers of refusals by status and route.
using RefusalCounts = std::map<std::pair<int, std::string>, uint64_t>;

class Refusals {
 public:
  static constexpr size_t kLinesMax = 10;  // of a status in kWindowMs
  static constexpr double kWindowMs = 10'000;
  static constexpr size_t kListedMax = 50;  // of a client

  // `clock` outlives this object.
  explicit Refusals(const Clock* clock) : clock_(clock) {}
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // Sets the sink for the lines; may be empty. Call before any request.
  void SetLog(LogSink log) { log_ = std::move(log); }
  // Sets what the ids begin with, where the lists of several servers are shown together. Call
  // before any request.
  void SetIdTag(std::string tag) { id_tag_ = std::move(tag); }

  void Note(const Refusal& refusal);
  RefusalCounts counts() const;

  // The last ones of a client, newest first, in the form of the list of requests
  // (api/record/request_log.h).
  Json List(NamespaceId name_space) const;
  // Null if there is no such entry.
  Json Find(std::string_view id, NamespaceId name_space) const;

 private:
  struct Window {
    double began_ms = 0;
    size_t lines = 0;
    size_t unsaid = 0;
  };

  // Returns the line, and before it that of those without one; nothing once there are too many.
  std::string Lines(const Refusal& refusal) REQUIRES(mutex_);

  const Clock* const clock_;
  LogSink log_;
  std::string id_tag_;
  mutable Mutex mutex_;
  uint64_t noted_ GUARDED_BY(mutex_) = 0;
  RefusalCounts counts_ GUARDED_BY(mutex_);
  std::map<int, Window> windows_ GUARDED_BY(mutex_);
  std::map<NamespaceId, std::deque<Json>> listed_ GUARDED_BY(mutex_);  // newest first
};

// Adds cairn_http_refused_total.
void AddRefusals(const RefusalCounts& counts, MetricsPage* page);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_REFUSALS_H_
