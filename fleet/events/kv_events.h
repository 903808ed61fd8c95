// KvEvents: publishes which prefixes this server can resume from, as vLLM's KV events
// (docs/kv_events.md), so that a router sends each prompt to the server that has its beginning.
//
//   context thread ── OnChanges ──> | changes | ──> PartTable ─> BlockTree ─> EventLog ─> sockets
//                                                   '------------ a thread of its own ---------'
//
// Changes are published in batches, at most one each 100 ms. A log begins with all blocks cleared;
// a new one begins when the old one is full, and its numbers count from 0 again, which consumers
// take for a restart.
//
// Threads: any.

#ifndef CAIRN_FLEET_EVENTS_KV_EVENTS_H_
#define CAIRN_FLEET_EVENTS_KV_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fleet/events/block_tree.h"
#include "fleet/events/event_sockets.h"
#include "tree/prefix_change.h"
#include "tree/token_ids.h"

namespace cairn {

struct KvEventsOptions {
  // tcp://ADDRESS:PORT; no replays if the second is empty.
  std::string events = {};
  std::string replay = {};
  // kv@ADDRESS:PORT@MODEL, from which llm-d knows the server.
  std::string topic = {};
  TokenIds ids = {};
  // A log is full at one of these; it has room for the whole set twice, whatever its size.
  size_t log_batches_max = 10'000;
  size_t log_bytes_max = size_t{64} << 20;
  // The time between two batches, and the time without changes after which an empty one tells
  // consumers whether they have missed any.
  double batch_ms = 100;
  double quiet_ms = 10'000;
  LogSink log = {};  // may be empty; called by the thread
};

// EventLog: the batches that were published since a begin, for consumers that missed some. It never
// drops its first ones: consumers accept a replay only if it begins where they asked. When it is
// full, a new log takes its place, which begins with all blocks cleared and the whole set anew.
class EventLog {
 public:
  // Returns the number of the batch.
  uint64_t Add(std::string payload) {
    bytes_ += payload.size();
    payloads_.push_back(std::move(payload));
    return payloads_.size() - 1;
  }
  const std::string& payload(size_t number) const { return payloads_[number]; }
  size_t size() const { return payloads_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> payloads_;  // by number
  size_t bytes_ = 0;
};

class KvEvents final : public PrefixWatcher, public PublishedPrefixes {
 public:
  // Errors as in EventSockets::Bind.
  static Result<std::unique_ptr<KvEvents>> Start(const KvEventsOptions& options);
  // Tells consumers that nothing is left here.
  ~KvEvents() override;
  KvEvents(const KvEvents&) = delete;
  KvEvents& operator=(const KvEvents&) = delete;

  void OnChanges(std::vector<PrefixChange> changes) override;

  KvEventsStats stats() const override;
  const TokenIds& ids() const override { return options_.ids; }
  const std::string& events_endpoint() const { return events_endpoint_; }
  const std::string& replay_endpoint() const { return replay_endpoint_; }

 private:
  // A consumer that is sent earlier batches. The log is the one of its request, to the end.
  struct Replay {
    std::string identity;
    std::shared_ptr<const EventLog> log;
    uint64_t next = 0;
  };

  KvEvents(const KvEventsOptions& options, std::unique_ptr<EventSockets> sockets);

  // The rest runs on the thread.
  void Run();
  // Until the thread has to end.
  void PublishAll();
  // Publishes no more, where memory is short for example.
  void End(const std::string& why);
  // Applies what was reported. Returns false if the thread has to end.
  bool TakeChanges();
  void TakeRequests();
  // Sends a part of each replay. Returns false if none is left.
  bool GoOnWithReplays();
  bool GoOnWith(Replay* replay);
  void PublishChanges();
  void PublishBatch(const std::vector<KvEvent>& events);
  void BeginLog();
  bool IsLogFull() const;

  const KvEventsOptions options_;
  const std::unique_ptr<EventSockets> sockets_;
  const std::string events_endpoint_;
  const std::string replay_endpoint_;
  const SteadyClock clock_;

  // Used by the thread alone.
  BlockTree tree_;
  PartTable parts_;
  std::shared_ptr<EventLog> log_;
  size_t log_begin_bytes_ = 0;  // of the whole set at its begin
  double published_ms_ = 0;
  std::vector<Replay> replays_;

  mutable Mutex mutex_;
  std::vector<PrefixChange> changes_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;  // nothing is published any more
  KvEventsStats stats_ GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_EVENTS_KV_EVENTS_H_
