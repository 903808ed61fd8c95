#include "sched/mailbox.h"

#include <algorithm>
#include <chrono>

namespace cairn {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

Status Mailbox::Post(Kind kind, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    LettersOf(kind).push_back(std::move(work));
  }
  woken_changed_.notify_one();
  return {};
}

size_t Mailbox::Do(Kind kind, size_t count_max) {
  Letters& letters = LettersOf(kind);
  size_t left = 0;
  {
    const std::lock_guard lock(mutex_);
    left = std::min(letters.size(), count_max);
  }
  const size_t done = left;
  for (; left > 0; --left) {
    Work next;
    {
      const std::lock_guard lock(mutex_);
      next = std::move(letters.front());
      letters.pop_front();
    }
    next();
  }
  return done;
}

bool Mailbox::has_commands() const {
  const std::lock_guard lock(mutex_);
  return !letters_.at(static_cast<size_t>(Kind::kCommand)).empty();
}

bool Mailbox::HasLetters() const {
  return std::any_of(letters_.begin(), letters_.end(),
                     [](const Letters& letters) { return !letters.empty(); });
}

void Mailbox::Wait(double ms_max) {
  std::unique_lock lock(mutex_);
  woken_changed_.wait_for(lock, Milliseconds(ms_max),
                          [this] { return stopping_ || woken_ || HasLetters(); });
  woken_ = false;
}

void Mailbox::WaitForWake(double ms_max) {
  std::unique_lock lock(mutex_);
  woken_changed_.wait_for(lock, Milliseconds(ms_max), [this] { return woken_; });
  woken_ = false;
}

void Mailbox::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  woken_changed_.notify_one();
}

void Mailbox::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_changed_.notify_one();
}

bool Mailbox::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace cairn
