#include "http/request_seats.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace cairn {
namespace {

using std::chrono::steady_clock;

// The part of the seats that is kept from one key where there are several.
constexpr size_t kKeptDivisor = 8;

}  // namespace

RequestSeats::Seat::~Seat() {
  const MutexLock lock(seats_->mutex_);
  if (!preempted_) seats_->Leave(this);
}

bool RequestSeats::Seat::Begin(ClientWait wait, double lag_ms) {
  const MutexLock lock(seats_->mutex_);
  if (preempted_) return false;
  waits_ = true;
  wait_ = wait;
  lag_ms_ = lag_ms;
  began_ = steady_clock::now();
  return true;
}

bool RequestSeats::Seat::End() {
  const MutexLock lock(seats_->mutex_);
  waits_ = false;
  return !preempted_;
}

bool RequestSeats::Seat::preempted() const {
  const MutexLock lock(seats_->mutex_);
  return preempted_;
}

Result<std::unique_ptr<RequestSeats::Seat>> RequestSeats::Enter(
    ApiKeys::Number key, size_t keys, std::shared_ptr<const PeerWatch> peer) {
  const bool is_stranger = keys > 0 && key == 0;
  const size_t share_max =
      keys > 1 || is_stranger ? seats_max_ - seats_max_ / kKeptDivisor : seats_max_;
  const MutexLock lock(mutex_);
  if (HeldBy(key) >= share_max && share_max < seats_max_) {
    return Fail(ErrorCode::kUnavailable,
                std::string(is_stranger ? "clients without a key hold " : "this key holds ") +
                    std::to_string(share_max) + " of the " + std::to_string(seats_max_) +
                    " connections of this server, the most that one key may; try again when a "
                    "request has ended");
  }
  if (taken_.size() >= seats_max_ && !MakeRoomFor(key, is_stranger)) {
    return Fail(ErrorCode::kUnavailable,
                "all " + std::to_string(seats_max_) +
                    " connections of this server are in use; try again later");
  }
  std::unique_ptr<Seat> seat(new Seat(this, key, is_stranger, std::move(peer)));
  taken_.insert(seat.get());
  ++held_[key];
  return seat;
}

size_t RequestSeats::HeldBy(ApiKeys::Number key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? 0 : found->second;
}

// After the exchange the newcomer's key holds no more than the other one.
bool RequestSeats::MakeRoomFor(ApiKeys::Number key, bool is_stranger) {
  if (is_stranger) return false;
  const size_t own = HeldBy(key);
  const auto now = steady_clock::now();
  const auto order = [&](const Seat* seat) REQUIRES(mutex_) {
    seat->seats_->mutex_.AssertHeld();
    const std::chrono::duration<double, std::milli> waited = now - seat->began_;
    return std::tuple(seat->is_stranger_, HeldBy(seat->key_), seat->lag_ms_ + waited.count());
  };
  Seat* slowest = nullptr;
  for (Seat* seat : taken_) {
    seat->seats_->mutex_.AssertHeld();
    if (!seat->waits_ || (!seat->is_stranger_ && HeldBy(seat->key_) < own + 2)) continue;
    if (slowest == nullptr || order(seat) > order(slowest)) slowest = seat;
  }
  if (slowest == nullptr) return false;
  Leave(slowest);
  slowest->seats_->mutex_.AssertHeld();
  slowest->preempted_ = true;
  slowest->peer_->EndWait(slowest->wait_);
  return true;
}

void RequestSeats::Leave(Seat* seat) {
  taken_.erase(seat);
  if (--held_[seat->key_] == 0) held_.erase(seat->key_);
}

}  // namespace cairn
