// Mutexes that clang checks: a member declared with GUARDED_BY(mutex_) is read and written only
// where the compiler can see that mutex_ is held, else the build fails (-Wthread-safety). Other
// compilers see plain mutexes.
//
//   class Counter {
//    public:
//     void Add() {
//       const MutexLock lock(mutex_);
//       ++count_;
//       changed_.NotifyAll();
//     }
//     void AwaitTen() {
//       const MutexLock lock(mutex_);
//       changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return IsTen(); });
//     }
//
//    private:
//     bool IsTen() const REQUIRES(mutex_) { return count_ == 10; }
//
//     mutable Mutex mutex_;
//     CondVar changed_;
//     int count_ GUARDED_BY(mutex_) = 0;
//   };
//
// A lambda is checked like a function of its own: one that runs under the lock says so by REQUIRES,
// behind its parameters. Constructors and destructors are not checked.

#ifndef CAIRN_BASE_MUTEX_H_
#define CAIRN_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#ifdef __clang__
#define CAIRN_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CAIRN_THREAD_ATTRIBUTE(x)
#endif

// A member with GUARDED_BY may be used only while the mutex is held, and what a pointer with
// PT_GUARDED_BY points to likewise.
#define GUARDED_BY(mutex) CAIRN_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) CAIRN_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// The caller of a function with REQUIRES holds the mutex. With EXCLUDES it does not, because the
// function takes the mutex itself.
#define REQUIRES(mutex) CAIRN_THREAD_ATTRIBUTE(requires_capability(mutex))
#define EXCLUDES(mutex) CAIRN_THREAD_ATTRIBUTE(locks_excluded(mutex))
// The function is right in a way that the compiler cannot see; a comment there says in which.
#define NO_THREAD_SAFETY_ANALYSIS CAIRN_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace cairn {

class CAIRN_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Tells clang that the mutex is held, where it cannot see that this is the one which was locked.
  void AssertHeld() const CAIRN_THREAD_ATTRIBUTE(assert_capability(this)) {}

 private:
  friend class MutexLock;
  friend class MutexUnlock;
  friend class CondVar;

  std::mutex mutex_;
};

// It holds a mutex to the end of the scope.
class CAIRN_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CAIRN_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex.mutex_) {
    mutex_.lock();
  }
  ~MutexLock() CAIRN_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  std::mutex& mutex_;
};

// It releases a mutex that is held, and takes it again at the end of the scope.
class CAIRN_THREAD_ATTRIBUTE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) CAIRN_THREAD_ATTRIBUTE(release_capability(mutex))
      : mutex_(mutex.mutex_) {
    mutex_.unlock();
  }
  ~MutexUnlock() CAIRN_THREAD_ATTRIBUTE(release_capability()) { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  std::mutex& mutex_;
};

// A wait ends when the predicate is true, which runs under the mutex. One with a time ends then at
// the latest, and returns what the predicate was last. Whoever notifies need not hold the mutex.
class CondVar {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  // Without a predicate a wait may end at any time.
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    Held held(mutex);
    changed_.wait(held.lock);
  }
  template <typename Duration>
  void WaitFor(Mutex& mutex, const Duration& time) REQUIRES(mutex) {
    Held held(mutex);
    changed_.wait_for(held.lock, time);
  }

  template <typename Predicate>
  void Wait(Mutex& mutex, Predicate is_over) REQUIRES(mutex) {
    Held held(mutex);
    changed_.wait(held.lock, std::move(is_over));
  }
  template <typename Duration, typename Predicate>
  bool WaitFor(Mutex& mutex, const Duration& time, Predicate is_over) REQUIRES(mutex) {
    Held held(mutex);
    return changed_.wait_for(held.lock, time, std::move(is_over));
  }

 private:
  // The standard library waits with such a lock. The mutex is held before, and stays so.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Held() { lock.release(); }

    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

}  // namespace cairn

#endif  // CAIRN_BASE_MUTEX_H_
