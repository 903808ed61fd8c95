// RequestQueue: holds the requests that wait for a slot, in the order of arrival. Admission chooses
// which of them gets the next slot.
//
// Threads: any. A reference to a queued request stays valid while others push; only the context
// thread takes requests out.

#ifndef CAIRN_SCHED_QUEUE_REQUEST_QUEUE_H_
#define CAIRN_SCHED_QUEUE_REQUEST_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "sched/request/request_state.h"

namespace cairn {

// WhoLeaves: chooses the requests that leave a full queue. No namespace owns places, so a namespace
// that fills the queue would shut all others out. The newest requests of the namespace with the
// most waiting requests leave for one with fewer.
//
//   limit 6    | A A A A A A |   <- B       the newest of A leaves
//              | A A A A A B |   <- A       refused: A waits with most itself
//
// Pure; any thread.
struct QueuePlace {
  NamespaceId name_space = 0;
  bool may_leave = true;  // false: it was running before, and its client has received some of it
};

// `queue`: the waiting requests, oldest first. Returns the indices of those that leave so that
// `count` more of `name_space` have room within `limit`; nullopt if the newcomers are refused.
std::optional<std::vector<size_t>> WhoLeaves(std::span<const QueuePlace> queue,
                                             NamespaceId name_space, size_t count, size_t limit);

class RequestQueue {
 public:
  explicit RequestQueue(size_t limit) : limit_(limit) {}

  // Adds the answers of one request and numbers them. If there is no room, requests of the client
  // with the most waiting requests are marked as refused (sched/queue/request_queue.h).
  // kUnavailable if the newcomers themselves are refused, or the queue is closed. REQUIRES: there
  // is at least one.
  Status Push(std::vector<QueuedRequest> newcomers);
  // Puts a preempted request first. Allowed when the queue is full or closed.
  void PushFront(QueuedRequest preempted);
  // Accepts no more requests from Push.
  void Close();

  size_t size() const;
  bool empty() const { return size() == 0; }
  // Requests refused because the queue was full, since the start.
  uint64_t refused() const;

  std::vector<QueuedRequest> TakeIf(const std::function<bool(const QueuedRequest&)>& leaves);
  // Takes the request whose index `choose` returns.
  std::optional<QueuedRequest> TakeOne(
      const std::function<std::optional<size_t>(std::deque<QueuedRequest>*)>& choose);
  // Calls `visit` for each request, under the lock.
  void ForEach(const std::function<void(QueuedRequest*)>& visit);
  // Returns the requests that could begin now. Only for the context thread, which may use them
  // until it takes one out: matching prompts takes time, and other threads push meanwhile.
  std::vector<QueuedRequest*> Ready();

 private:
  // Marks the requests that leave.
  Status MakeRoom(const std::vector<QueuedRequest>& newcomers) REQUIRES(mutex_);

  const size_t limit_;
  mutable Mutex mutex_;
  std::deque<QueuedRequest> requests_ GUARDED_BY(mutex_);
  uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  uint64_t refused_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_REQUEST_QUEUE_H_
