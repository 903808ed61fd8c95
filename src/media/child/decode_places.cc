#include "media/child/decode_places.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "media/medium_wait.h"

namespace cairn {
namespace {

// When more owners are known, all are forgotten, and come in the order of their calls.
constexpr size_t kOwnersMax = 1024;

template <typename Map>
typename Map::mapped_type ValueOf(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

}  // namespace

DecodePlaces::DecodePlaces(size_t places_max) : places_max_(places_max) {
  CHECK(places_max > 0);
}

bool DecodePlaces::AwaitTurn(const Waiter& own, std::chrono::milliseconds wait_max,
                             const std::function<bool()>& gone) {
  const auto is_turn = [&]() REQUIRES(mutex_) { return taken_ < places_max_ && Next() == &own; };
  const auto deadline = std::chrono::steady_clock::now() + wait_max;
  while (true) {
    const std::chrono::steady_clock::duration look = kGoneLookInterval;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (changed_.WaitFor(mutex_, std::min(look, left), is_turn)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (!gone) continue;
    // It may ask the system, and others have their turns meanwhile.
    const MutexUnlock unlocked(mutex_);
    if (gone()) return false;
  }
}

std::unique_ptr<DecodePlaces::Place> DecodePlaces::Take(uint64_t owner,
                                                        std::chrono::milliseconds wait_max,
                                                        const std::function<bool()>& gone) {
  const MutexLock lock(mutex_);
  const auto own = waiters_.insert(waiters_.end(), Waiter{owner});
  const bool is_free = AwaitTurn(*own, wait_max, gone);
  waiters_.erase(own);
  changed_.NotifyAll();  // it is the turn of another one
  if (!is_free) return nullptr;
  if (served_last_.size() >= kOwnersMax) served_last_.clear();
  // The lines that need memory come before those that count.
  size_t& children = children_[owner];
  uint64_t& served_last = served_last_[owner];
  auto place = std::make_unique<Place>(this, owner);
  ++taken_;
  ++children;
  served_last = ++served_;
  return place;
}

void DecodePlaces::Leave(uint64_t owner) {
  const MutexLock lock(mutex_);
  --taken_;
  const auto children = children_.find(owner);
  if (--children->second == 0) children_.erase(children);
  changed_.NotifyAll();
}

const DecodePlaces::Waiter* DecodePlaces::Next() const {
  const Waiter* next = nullptr;
  std::tuple<size_t, uint64_t> least;
  for (const Waiter& waiter : waiters_) {
    const std::tuple<size_t, uint64_t> rank = {ValueOf(children_, waiter.owner),
                                               ValueOf(served_last_, waiter.owner)};
    if (next != nullptr && rank >= least) continue;
    next = &waiter;
    least = rank;
  }
  return next;
}

size_t DecodePlaces::waiting() const {
  const MutexLock lock(mutex_);
  return waiters_.size();
}

}  // namespace cairn
