#include "http/heap_trim.h"

#include <utility>

#include "base/process/threads.h"

namespace cairn {

HeapTrim::HeapTrim(HeapTrimOptions options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

HeapTrim::~HeapTrim() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void HeapTrim::OnRequestEnd(size_t bytes) noexcept {
  if (bytes < options_.request_bytes_min) return;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(wanted_, true)) return;
  }
  changed_.NotifyAll();
}

void HeapTrim::Run() {
  const auto stops = [this]() REQUIRES(mutex_) { return stopping_; };
  const MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return wanted_ || stopping_; });
    if (changed_.WaitFor(mutex_, options_.delay, stops)) return;
    wanted_ = false;
    {
      const MutexUnlock unlocked(mutex_);
      static_cast<void>(TryWork(options_.trim));
    }
    if (changed_.WaitFor(mutex_, options_.interval, stops)) return;
  }
}

}  // namespace cairn
