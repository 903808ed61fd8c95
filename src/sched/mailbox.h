// Mailbox: carries work from other threads to the context thread, and wakes that thread.
//
//   any thread       ── Call, Post ──>  | commands | looks | posts |  ── Do ──>  context thread
//                    ── Wake, Stop ──>                                 Wait <──
//
// Commands change slots and need a loaded model. Looks read or change the cache, and their senders
// wait for them. Posts are looks whose senders do not wait.
//
// Threads: Call, Post, Wake, Stop and stopping from any thread (Call not from the context thread);
// Do, Wait and has_commands from the context thread.

#ifndef CAIRN_SCHED_MAILBOX_H_
#define CAIRN_SCHED_MAILBOX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

class Mailbox {
 public:
  using Work = std::function<void()>;
  enum class Kind : uint8_t { kCommand, kLook, kPost };

  // Queues `work` for the context thread. kUnavailable if the scheduler is stopping.
  Status Post(Kind kind, Work work);

  // As Post, and waits for the result. Also kUnavailable if memory for the work ran out; the
  // context thread then gets the exception.
  template <typename T>
  Result<T> Call(Kind kind, std::function<Result<T>()> work);

  // Runs the letters of one kind that are present, at most `count_max`, and returns how many.
  // Letters behind one that throws stay.
  size_t Do(Kind kind, size_t count_max = SIZE_MAX);
  bool has_commands() const;

  // Returns after `ms_max`, or as soon as there is a letter, a Wake since the last Wait, or a Stop.
  void Wait(double ms_max);
  // Returns after `ms_max`, or as soon as there is a Wake since the last wait.
  void WaitForWake(double ms_max);
  void Wake();

  // Accepts no more letters.
  void Stop();
  bool stopping() const;

 private:
  using Letters = std::deque<Work>;

  Letters& LettersOf(Kind kind) REQUIRES(mutex_) { return letters_.at(static_cast<size_t>(kind)); }
  bool HasLetters() const REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar woken_changed_;
  std::array<Letters, 3> letters_ GUARDED_BY(mutex_);  // by kind
  bool woken_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

template <typename T>
Result<T> Mailbox::Call(Kind kind, std::function<Result<T>()> work) {
  const auto done = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> result = done->get_future();
  auto letter = [done, work = std::move(work)] {
    try {
      done->set_value(work());
    } catch (...) {
      done->set_value(Fail(ErrorCode::kUnavailable, "there was no memory for it; try again"));
      throw;
    }
  };
  if (Status posted = Post(kind, std::move(letter)); !posted) {
    return tl::unexpected(posted.error());
  }
  return result.get();
}

}  // namespace cairn

#endif  // CAIRN_SCHED_MAILBOX_H_
