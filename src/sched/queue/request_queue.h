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
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "sched/request/request_state.h"

namespace cairn {

class RequestQueue {
 public:
  explicit RequestQueue(size_t limit) : limit_(limit) {}

  // Adds the answers of one request and numbers them. If there is no room, requests of the client
  // with the most waiting requests are marked as refused (sched/queue/queue_room.h). kUnavailable
  // if the newcomers themselves are refused, or the queue is closed. REQUIRES: there is at least
  // one.
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
  // Marks the requests that leave. REQUIRES: mutex_ is held.
  Status MakeRoom(const std::vector<QueuedRequest>& newcomers);

  const size_t limit_;
  mutable std::mutex mutex_;
  std::deque<QueuedRequest> requests_;  // guarded by mutex_
  uint64_t last_number_ = 0;            // guarded by mutex_
  uint64_t refused_ = 0;                // guarded by mutex_
  bool closed_ = false;                 // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_SCHED_QUEUE_REQUEST_QUEUE_H_
