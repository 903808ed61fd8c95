#include "store/disk/disk_reader.h"

namespace cairn {

DiskReader::DiskReader(size_t threads, std::function<Result<Bytes>(const ObjectName&)> read,
                       std::function<void()> wake)
    : read_(std::move(read)), wake_(std::move(wake)) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void DiskReader::Start(const ObjectName& name) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    to_read_.push_back(name);
  }
  changed_.notify_one();
}

DiskReader::Results DiskReader::TakeResults() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::exchange(results_, {});
}

void DiskReader::Stop() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void DiskReader::Run() {
  while (true) {
    ObjectName name;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !to_read_.empty(); });
      if (stopped_) return;
      name = to_read_.front();
      to_read_.pop_front();
    }
    Result<Bytes> bytes = read_(name);
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      results_.emplace_back(name, std::move(bytes));
    }
    if (wake_) wake_();
  }
}

}  // namespace cairn
