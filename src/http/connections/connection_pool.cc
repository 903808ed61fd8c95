#include "http/connections/connection_pool.h"

#include <unistd.h>

#include <utility>

#include "base/process/threads.h"

namespace cairn {
namespace {

// Limit for refusals that wait to be sent; beyond it a connection is closed without an answer.
constexpr size_t kRefusedMax = 256;

}  // namespace

ConnectionPool::Seat::~Seat() {
  const MutexLock lock(pool_->mutex_);
  if (!given_away_) --pool_->taken_;
}

void ConnectionPool::Seat::EnterIdle() {
  const MutexLock lock(pool_->mutex_);
  ++pool_->idle_;
}

bool ConnectionPool::Seat::LeaveIdle(bool has_request) {
  const MutexLock lock(pool_->mutex_);
  // A connection without a request goes first; one with a request only if every idle one has to go.
  const bool must_go =
      pool_->asked_to_go_ > 0 && (!has_request || pool_->idle_ <= pool_->asked_to_go_);
  --pool_->idle_;
  if (!must_go) return true;
  --pool_->asked_to_go_;
  --pool_->taken_;
  pool_->seat_wanted_.Take();
  given_away_ = true;
  return false;
}

ConnectionPool::ConnectionPool(size_t threads_max, Serve serve, Refuse refuse)
    : threads_max_(threads_max > 0 ? threads_max : 1),
      serve_(std::move(serve)),
      refuse_(std::move(refuse)) {}

void ConnectionPool::Add(AcceptedSocket socket) {
  const MutexLock lock(mutex_);
  if (shutdown_) {
    close(socket.fd);
    return;
  }
  if (taken_ - asked_to_go_ >= threads_max_) {
    if (idle_ <= asked_to_go_) {
      RefuseLocked(std::move(socket));
      return;
    }
    ++asked_to_go_;
    seat_wanted_.Add();
  }
  if (threads_free_ <= waiting_.size() && threads_.size() < threads_max_ &&
      !StartThread(&threads_, &ConnectionPool::ServeLoop, this) && threads_.empty()) {
    RefuseLocked(std::move(socket));
    return;
  }
  waiting_.push_back(std::move(socket));
  ++taken_;
  work_.NotifyOne();
}

void ConnectionPool::RefuseLocked(AcceptedSocket socket) {
  if (refused_.size() >= kRefusedMax ||
      (refuse_threads_.empty() &&
       !StartThread(&refuse_threads_, &ConnectionPool::RefuseLoop, this))) {
    close(socket.fd);
    return;
  }
  refused_.push_back(std::move(socket));
  refusals_.NotifyOne();
}

void ConnectionPool::ServeLoop() {
  const MutexLock lock(mutex_);
  for (;;) {
    ++threads_free_;
    work_.Wait(mutex_, [this]() REQUIRES(mutex_) { return shutdown_ || !waiting_.empty(); });
    --threads_free_;
    if (shutdown_) return;
    AcceptedSocket socket = std::move(waiting_.front());
    waiting_.pop_front();
    const MutexUnlock unlocked(mutex_);
    Seat seat(this);
    static_cast<void>(TryWork([&] { serve_(std::move(socket), &seat); }));
  }
}

void ConnectionPool::RefuseLoop() {
  const MutexLock lock(mutex_);
  for (;;) {
    refusals_.Wait(mutex_, [this]() REQUIRES(mutex_) { return shutdown_ || !refused_.empty(); });
    if (shutdown_) return;
    AcceptedSocket socket = std::move(refused_.front());
    refused_.pop_front();
    const MutexUnlock unlocked(mutex_);
    static_cast<void>(TryWork([&] { refuse_(std::move(socket)); }));
  }
}

void ConnectionPool::Shutdown() {
  std::vector<std::thread> threads;
  std::vector<std::thread> refuse_threads;
  {
    const MutexLock lock(mutex_);
    shutdown_ = true;
    threads = std::exchange(threads_, {});
    refuse_threads = std::exchange(refuse_threads_, {});
    for (const AcceptedSocket& socket : std::exchange(waiting_, {})) close(socket.fd);
    for (const AcceptedSocket& socket : std::exchange(refused_, {})) close(socket.fd);
  }
  work_.NotifyAll();
  refusals_.NotifyAll();
  for (std::thread& thread : threads) thread.join();
  for (std::thread& thread : refuse_threads) thread.join();
}

}  // namespace cairn
