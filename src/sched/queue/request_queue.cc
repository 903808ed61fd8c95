#include "sched/queue/request_queue.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sched/request/adapter_name_space.h"

namespace cairn {

Status RequestQueue::Push(std::vector<QueuedRequest> newcomers) {
  const MutexLock lock(mutex_);
  if (closed_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
  if (Status room = MakeRoom(newcomers); !room) return room;
  for (QueuedRequest& newcomer : newcomers) {
    newcomer.number = ++last_number_;
    requests_.push_back(std::move(newcomer));
  }
  return {};
}

Status RequestQueue::MakeRoom(const std::vector<QueuedRequest>& newcomers) {
  std::vector<QueuePlace> places;
  std::vector<QueuedRequest*> waiting;
  for (QueuedRequest& queued : requests_) {
    // A paused one waits for its client and not for a slot, and has a connection of its own.
    if (queued.leaves_queue() || queued.paused) continue;
    places.push_back({queued.request.name_space, !queued.was_admitted()});
    waiting.push_back(&queued);
  }
  const auto leave =
      WhoLeaves(places, newcomers.front().request.name_space, newcomers.size(), limit_);
  if (!leave) {
    ++refused_;
    return Fail(ErrorCode::kUnavailable,
                std::to_string(waiting.size()) + " requests are queued already; try again later");
  }
  for (const size_t index : *leave) waiting[index]->refused.Set();
  refused_ += leave->size();
  return {};
}

void RequestQueue::PushFront(QueuedRequest preempted) {
  const MutexLock lock(mutex_);
  requests_.push_front(std::move(preempted));
}

void RequestQueue::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

size_t RequestQueue::size() const {
  const MutexLock lock(mutex_);
  return requests_.size();
}

uint64_t RequestQueue::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

std::vector<QueuedRequest> RequestQueue::TakeIf(
    const std::function<bool(const QueuedRequest&)>& leaves) {
  std::vector<QueuedRequest> taken;
  const MutexLock lock(mutex_);
  // Most steps find none, and a partition allocates.
  if (std::none_of(requests_.begin(), requests_.end(), leaves)) return taken;
  const auto first = std::stable_partition(requests_.begin(), requests_.end(), std::not_fn(leaves));
  std::move(first, requests_.end(), std::back_inserter(taken));
  requests_.erase(first, requests_.end());
  return taken;
}

std::optional<QueuedRequest> RequestQueue::TakeOne(
    const std::function<std::optional<size_t>(std::deque<QueuedRequest>*)>& choose) {
  const MutexLock lock(mutex_);
  const std::optional<size_t> index = choose(&requests_);
  if (!index) return std::nullopt;
  QueuedRequest taken = std::move(requests_[*index]);
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(*index));
  return taken;
}

void RequestQueue::ForEach(const std::function<void(QueuedRequest*)>& visit) {
  const MutexLock lock(mutex_);
  for (QueuedRequest& queued : requests_) visit(&queued);
}

std::vector<QueuedRequest*> RequestQueue::Ready() {
  std::vector<QueuedRequest*> ready;
  const MutexLock lock(mutex_);
  for (QueuedRequest& queued : requests_) {
    if (queued.ready()) ready.push_back(&queued);
  }
  return ready;
}

std::optional<std::vector<size_t>> WhoLeaves(std::span<const QueuePlace> queue,
                                             NamespaceId name_space, size_t count, size_t limit) {
  std::vector<size_t> leave;
  if (queue.size() + count <= limit) return leave;
  std::map<NamespaceId, size_t> waiting;
  for (const QueuePlace& place : queue) ++waiting[OwnerOf(place.name_space)];
  const size_t wanted = waiting[OwnerOf(name_space)] + count;
  const size_t too_many = queue.size() + count - limit;
  for (size_t i = queue.size(); i > 0 && leave.size() < too_many; --i) {
    const auto most =
        std::max_element(waiting.begin(), waiting.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const QueuePlace& place = queue[i - 1];
    // If no namespace has more waiting requests than the newcomers', the newcomers are refused.
    if (most->second <= wanted) return std::nullopt;
    if (OwnerOf(place.name_space) != most->first || !place.may_leave) continue;
    leave.push_back(i - 1);
    --waiting[OwnerOf(place.name_space)];
  }
  if (leave.size() < too_many) return std::nullopt;
  return leave;
}

}  // namespace cairn
