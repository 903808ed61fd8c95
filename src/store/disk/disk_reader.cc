#include "store/disk/disk_reader.h"

#include <chrono>
#include <system_error>

#include "base/process/threads.h"

namespace cairn {
namespace {

// Until there may be memory for a result.
constexpr std::chrono::milliseconds kNoMemoryPause(100);

}  // namespace

DiskReader::DiskReader(size_t threads, std::function<Result<Bytes>(const ObjectName&)> read,
                       std::function<void()> wake)
    : read_(std::move(read)), wake_(std::move(wake)) {
  // Fewer threads read more slowly.
  while (threads_.size() < threads && StartThread(&threads_, [this] { Run(); })) {
  }
  if (threads_.empty()) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
}

void DiskReader::Start(const ObjectName& name) {
  {
    const MutexLock guard(mutex_);
    to_read_.push_back(name);
  }
  changed_.NotifyOne();
}

DiskReader::Results DiskReader::TakeResults() {
  const MutexLock guard(mutex_);
  return std::exchange(results_, {});
}

void DiskReader::Stop() {
  {
    const MutexLock guard(mutex_);
    stopped_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

// Leaves `bytes` as they are if it throws.
void DiskReader::Report(const ObjectName& name, Result<Bytes>* bytes) {
  const MutexLock guard(mutex_);
  results_.emplace_back(name, std::move(*bytes));
}

void DiskReader::Run() {
  while (true) {
    ObjectName name;
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopped_ || !to_read_.empty(); });
      if (stopped_) return;
      name = to_read_.front();
      to_read_.pop_front();
    }
    Result<Bytes> bytes = Fail(ErrorCode::kUnavailable, "memory is short");
    static_cast<void>(TryWork([&] { bytes = read_(name); }));
    // Whoever waits for the object waits until its result is there.
    while (!TryWork([&] { Report(name, &bytes); })) std::this_thread::sleep_for(kNoMemoryPause);
    if (wake_) static_cast<void>(TryWork(wake_));
  }
}

}  // namespace cairn
