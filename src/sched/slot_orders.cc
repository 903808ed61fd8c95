// What other threads have the context thread do with slots.

#include <future>
#include <memory>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {

template <typename T>
Result<T> Scheduler::Order(std::function<Result<T>()> order) {
  const auto done = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> result = done->get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    orders_.emplace_back([this, done, order = std::move(order)] {
      try {
        // What sleeps cannot be asked.
        Result<T> outcome =
            asleep_ ? Result<T>(Fail(ErrorCode::kUnavailable, why_asleep_)) : order();
        // Before anybody hears of it.
        PublishSlots();
        done->set_value(std::move(outcome));
      } catch (...) {
        // The caller gets an error; Run() recovers from the failure.
        done->set_value(Fail(ErrorCode::kUnavailable, "there was no memory for it; try again"));
        throw;
      }
    });
  }
  arrived_.notify_one();
  return result.get();
}

// One by one, so that those behind one that fails stay in the queue.
size_t Scheduler::DoAll(std::deque<std::function<void()>>* queue) {
  size_t left = 0;
  {
    const std::lock_guard lock(mutex_);
    left = queue->size();
  }
  const size_t done = left;
  for (; left > 0; --left) {
    std::function<void()> next;
    {
      const std::lock_guard lock(mutex_);
      next = std::move(queue->front());
      queue->pop_front();
    }
    next();
  }
  return done;
}

bool Scheduler::DoOrders() {
  return DoAll(&orders_) > 0;
}

Status Scheduler::Look(std::function<void(CheckpointCache* cache)> look) {
  const auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> seen = done->get_future();
  Status posted = PostLook([done, look = std::move(look)](CheckpointCache* cache) {
    try {
      look(cache);
      done->set_value(Status());
    } catch (...) {
      done->set_value(Fail(ErrorCode::kUnavailable, "there was no memory for it; try again"));
      throw;
    }
  });
  if (!posted) return posted;
  return seen.get();
}

Status Scheduler::PostLook(std::function<void(CheckpointCache* cache)> look) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    looks_.emplace_back([this, look = std::move(look)] {
      cache_->SetNow(clock_->NowMs());
      cache_->TakeNews();
      look(cache_);
    });
  }
  arrived_.notify_one();
  return {};
}

void Scheduler::DoLooks() {
  if (DoAll(&looks_) == 0) return;
  const std::lock_guard lock(mutex_);
  stats_.cache = cache_->stats();
}

Result<size_t> Scheduler::Flush() {
  size_t left = 0;
  Status done = Look([this, &left](CheckpointCache* cache) {
    if (!asleep_) {
      Tend(true);
    } else {
      cache->SaveNext(keeper_.read_ms_per_token());
    }
    const std::lock_guard lock(mutex_);
    left = stats_.unsaved_bytes;
  });
  if (!done) return tl::unexpected(done.error());
  return left;
}

Result<size_t> Scheduler::EraseSlot(size_t slot, NamespaceId name_space) {
  return Order<size_t>([this, slot, name_space] { return keeper_.Erase(slot, name_space); });
}

Result<SlotContent> Scheduler::BeginSaving(size_t slot, NamespaceId name_space) {
  return Order<SlotContent>([this, slot, name_space] {
    cache_->TakeNews();
    return keeper_.BeginSaving(slot, name_space);
  });
}

Result<Bytes> Scheduler::TakePiece(size_t slot, const SlotPiece& piece) {
  return Order<Bytes>([this, slot, &piece] { return keeper_.TakePiece(slot, piece); });
}

void Scheduler::EndSaving(size_t slot) {
  // When the scheduler stops, it ends by itself.
  static_cast<void>(Order<void>([this, slot]() -> Status {
    keeper_.EndSaving(slot);
    return {};
  }));
}

Status Scheduler::RestoreSlot(size_t slot, SavedSlot saved) {
  return Order<void>([this, slot, &saved] {
    cache_->TakeNews();
    Status restored = keeper_.Restore(slot, std::move(saved));
    const std::lock_guard lock(mutex_);
    stats_.keeper = keeper_.stats();
    stats_.cache = cache_->stats();
    return restored;
  });
}

}  // namespace cairn
