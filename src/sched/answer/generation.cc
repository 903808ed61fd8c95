#include "sched/answer/generation.h"

#include <utility>

namespace cairn {

std::optional<GenerationEvent> Generation::Next(std::chrono::milliseconds timeout) {
  auto event = Take(timeout);
  if (event && watcher_) watcher_(*event);
  return event;
}

std::optional<Error> Generation::FailureOf(const GenerationEvent& event) const {
  if (event.kind == GenerationEvent::Kind::kFailed) return event.error;
  const bool cut = event.kind == GenerationEvent::Kind::kDone &&
                   event.reason == FinishReason::kCancelled &&
                   abandoned_.load(std::memory_order_relaxed);
  if (!cut) return std::nullopt;
  return Error{ErrorCode::kUnavailable,
               "the server is shutting down and the answer is incomplete; send the request again"};
}

bool Generation::Await(std::chrono::milliseconds timeout) {
  // WaitFor makes a system call even with a timeout of zero.
  if (timeout.count() <= 0) return HasEvent();
  return arrived_.WaitFor(mutex_, timeout, [this]() REQUIRES(mutex_) { return HasEvent(); });
}

std::optional<GenerationEvent::Kind> Generation::AwaitKind(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  if (!Await(timeout)) return std::nullopt;
  return events_.empty() ? GenerationEvent::Kind::kFailed : events_.front().kind;
}

std::optional<GenerationEvent> Generation::Take(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  if (!Await(timeout)) return std::nullopt;
  GenerationEvent event;
  if (events_.empty()) {
    event.kind = GenerationEvent::Kind::kFailed;
    event.error = *failed_;
    return event;
  }
  event = std::move(events_.front());
  events_.pop_front();
  UpdateBehind();
  return event;
}

void Generation::BoundWaiting(size_t events_max) {
  const MutexLock lock(mutex_);
  waiting_max_ = events_max;
  UpdateBehind();
}

void Generation::UpdateBehind() {
  const size_t most = behind() ? waiting_max_ / 2 : waiting_max_ - 1;
  behind_.store(events_.size() > most, std::memory_order_relaxed);
}

void Generation::Push(GenerationEvent event) {
  if (whole_) {
    event.answer += first_answer_;
    return whole_->Push(std::move(event));
  }
  {
    const MutexLock lock(mutex_);
    if (failed_) return;
    events_.push_back(std::move(event));
    UpdateBehind();
  }
  arrived_.NotifyOne();
}

void Generation::Fail(Error error) {
  if (whole_) return whole_->Fail(std::move(error));
  {
    const MutexLock lock(mutex_);
    failed_ = std::move(error);
  }
  arrived_.NotifyOne();
}

void OpenGenerations::Add(const std::shared_ptr<Generation>& generation) {
  const MutexLock lock(mutex_);
  if (error_ != nullptr) generation->Fail(*error_);
  // There are no more than the queue and the slots have room for, and those of the last seconds.
  std::erase_if(open_, [](const auto& open) { return open.expired(); });
  open_.push_back(generation);
}

void OpenGenerations::FailAll(const Error& error) {
  const MutexLock lock(mutex_);
  error_ = std::make_unique<const Error>(error);
  for (const std::weak_ptr<Generation>& open : open_) {
    if (const std::shared_ptr<Generation> generation = open.lock()) generation->Fail(error);
  }
}

}  // namespace cairn
