#include "sched/mailbox.h"

#include <algorithm>
#include <chrono>

namespace cairn {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

Status Mailbox::Post(Kind kind, Work work) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
    LettersOf(kind).push_back(std::move(work));
  }
  woken_changed_.NotifyOne();
  return {};
}

size_t Mailbox::Do(Kind kind, size_t count_max) {
  size_t left = 0;
  {
    const MutexLock lock(mutex_);
    left = std::min(LettersOf(kind).size(), count_max);
  }
  const size_t done = left;
  for (; left > 0; --left) {
    Work next;
    {
      const MutexLock lock(mutex_);
      Letters& letters = LettersOf(kind);
      next = std::move(letters.front());
      letters.pop_front();
    }
    next();
  }
  return done;
}

bool Mailbox::has_commands() const {
  const MutexLock lock(mutex_);
  return !letters_.at(static_cast<size_t>(Kind::kCommand)).empty();
}

bool Mailbox::HasLetters() const {
  return std::any_of(letters_.begin(), letters_.end(),
                     [](const Letters& letters) { return !letters.empty(); });
}

void Mailbox::Wait(double ms_max) {
  const MutexLock lock(mutex_);
  woken_changed_.WaitFor(mutex_, Milliseconds(ms_max),
                         [this]() REQUIRES(mutex_) { return stopping_ || woken_ || HasLetters(); });
  woken_ = false;
}

void Mailbox::WaitForWake(double ms_max) {
  const MutexLock lock(mutex_);
  woken_changed_.WaitFor(mutex_, Milliseconds(ms_max),
                         [this]() REQUIRES(mutex_) { return woken_; });
  woken_ = false;
}

void Mailbox::Wake() {
  {
    const MutexLock lock(mutex_);
    woken_ = true;
  }
  woken_changed_.NotifyOne();
}

void Mailbox::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_changed_.NotifyOne();
}

bool Mailbox::stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

}  // namespace cairn
