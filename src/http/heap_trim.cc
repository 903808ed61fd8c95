#include "http/heap_trim.h"

#include <utility>

#include "base/process/try_work.h"

namespace cairn {

HeapTrim::HeapTrim(HeapTrimOptions options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

HeapTrim::~HeapTrim() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HeapTrim::OnRequestEnd(size_t bytes) noexcept {
  if (bytes < options_.request_bytes_min) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(wanted_, true)) return;
  }
  changed_.notify_all();
}

void HeapTrim::Run() {
  const auto stops = [this] { return stopping_; };
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return wanted_ || stopping_; });
    if (changed_.wait_for(lock, options_.delay, stops)) return;
    wanted_ = false;
    lock.unlock();
    static_cast<void>(TryWork(options_.trim));
    lock.lock();
    if (changed_.wait_for(lock, options_.interval, stops)) return;
  }
}

}  // namespace cairn
