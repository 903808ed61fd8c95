// RequestQueue: requests that wait for a slot, in the order of arrival. Which of them gets the next
// slot is Admission's affair.
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
#include "sched/request_state.h"

namespace cairn {

class RequestQueue {
 public:
  explicit RequestQueue(size_t limit) : limit_(limit) {}

  // Adds the answers of one request and numbers them. When there is no room, requests of the client
  // that waits with most are marked as refused (sched/queue/queue_room.h). kUnavailable: the
  // newcomers are refused themselves, or the queue is closed. REQUIRES: there is one at least.
  Status Push(std::vector<QueuedRequest> newcomers);
  // A preempted request goes first. Possible when the queue is full or closed.
  void PushFront(QueuedRequest preempted);
  // Takes no newcomers from now on.
  void Close();

  size_t size() const;
  bool empty() const { return size() == 0; }
  // Requests that were refused for want of room, since the start.
  uint64_t refused() const;

  std::vector<QueuedRequest> TakeIf(const std::function<bool(const QueuedRequest&)>& leaves);
  // Takes the one that `choose` returns the index of.
  std::optional<QueuedRequest> TakeOne(
      const std::function<std::optional<size_t>(std::deque<QueuedRequest>*)>& choose);
  // Nobody else uses the queue while `visit` runs.
  void ForEach(const std::function<void(QueuedRequest*)>& visit);
  // Those that could begin now. For the context thread, which may use them until it takes one out:
  // matching prompts takes time, and other threads push meanwhile.
  std::vector<QueuedRequest*> Ready();

 private:
  // Marks those that leave. REQUIRES: mutex_ is held.
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
