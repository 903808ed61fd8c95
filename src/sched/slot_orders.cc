// What other threads have the context thread do with slots.

#include <algorithm>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <utility>

#include "sched/scheduler.h"

namespace cairn {

namespace {

constexpr size_t kAll = std::numeric_limits<size_t>::max();

// Hands on what `work` comes to. When it throws, whoever waits gets an error, and Run() recovers.
template <typename T>
void Fulfil(std::promise<Result<T>>* done, const std::function<Result<T>()>& work) {
  try {
    done->set_value(work());
  } catch (...) {
    done->set_value(Fail(ErrorCode::kUnavailable, "there was no memory for it; try again"));
    throw;
  }
}

}  // namespace

template <typename T>
Result<T> Scheduler::Order(std::function<Result<T>()> order) {
  const auto done = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> result = done->get_future();
  auto fulfil = [this, done, order = std::move(order)] {
    Fulfil<T>(done.get(), [this, &order] {
      // What sleeps cannot be asked.
      Result<T> outcome = asleep_ ? Result<T>(Fail(ErrorCode::kUnavailable, why_asleep_)) : order();
      // Before anybody hears of it.
      PublishSlots();
      return outcome;
    });
  };
  if (Status posted = Post(&orders_, std::move(fulfil)); !posted) {
    return tl::unexpected(posted.error());
  }
  return result.get();
}

// One by one, so that those behind one that fails stay in the queue.
size_t Scheduler::DoAll(std::deque<std::function<void()>>* queue, size_t count_max) {
  size_t left = 0;
  {
    const std::lock_guard lock(mutex_);
    left = std::min(queue->size(), count_max);
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
  return DoAll(&orders_, kAll) > 0;
}

Status Scheduler::Look(std::function<void(CheckpointCache* cache)> look) {
  const auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> seen = done->get_future();
  auto fulfil = [this, done, look = std::move(look)] {
    Fulfil<void>(done.get(), [&]() -> Status {
      ShowCache(look);
      return {};
    });
  };
  if (Status posted = Post(&looks_, std::move(fulfil)); !posted) return posted;
  return seen.get();
}

Status Scheduler::PostLook(std::function<void(CheckpointCache* cache)> look) {
  return Post(&posts_, [this, look = std::move(look)] { ShowCache(look); });
}

Status Scheduler::Post(std::deque<std::function<void()>>* queue, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    queue->push_back(std::move(work));
  }
  arrived_.notify_one();
  return {};
}

void Scheduler::ShowCache(const std::function<void(CheckpointCache* cache)>& look) {
  cache_->SetNow(clock_->NowMs());
  cache_->TakeNews();
  look(cache_);
}

void Scheduler::DoLooks(size_t count_max) {
  if (DoAll(&posts_, kAll) + DoAll(&looks_, count_max) == 0) return;
  const std::lock_guard lock(mutex_);
  stats_.cache = cache_->stats();
}

Result<size_t> Scheduler::Flush() {
  size_t left = 0;
  Status done = Look([this, &left](CheckpointCache* cache) {
    if (!asleep_) {
      Tend(true);
    } else {
      cache->SaveNext(keeper_.prefill_ms_per_token());
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

Result<Bytes> Scheduler::TakePiece(size_t slot, const SlotPart& piece) {
  return Order<Bytes>([this, slot, &piece] { return keeper_.TakePiece(slot, piece); });
}

void Scheduler::EndSaving(size_t slot) {
  // When the scheduler stops, it ends by itself.
  static_cast<void>(Order<void>([this, slot]() -> Status {
    keeper_.EndSaving(slot);
    return {};
  }));
}

Status Scheduler::CheckFree(size_t slot) {
  return Order<void>([this, slot] { return keeper_.CheckFree(slot); });
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
