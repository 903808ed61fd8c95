// DiskStore: a DiskWorker with its thread, and a DiskReader.

#include "store/disk/disk_store.h"

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "base/process/threads.h"
#include "store/disk/disk_reader.h"
#include "store/disk/disk_worker.h"

namespace cairn {
namespace {

// A folder whose scan takes longer is reported when the scan is done.
constexpr std::chrono::seconds kFirstScanMax(5);

class ThreadedDiskStore final : public DiskStore {
 public:
  ThreadedDiskStore(Fs* fs, DiskStoreOptions options, std::function<void()> wake)
      : worker_(fs, std::move(options)),
        reader_(
            kReadsAtOnce, [this](const ObjectName& name) { return worker_.Read(name); },
            std::move(wake)),
        thread_([this] {
          worker_.TryStep();
          scanned_.set_value();
          LowerThreadPriority();
          worker_.Run();
        }) {
    scanned_.get_future().wait_for(kFirstScanMax);
  }
  ~ThreadedDiskStore() override { ThreadedDiskStore::Stop(); }

  void Stop() override {
    reader_.Stop();
    worker_.Stop();
    if (thread_.joinable()) thread_.join();
  }

  Events TakeEvents() override {
    Events events = worker_.TakeEvents();
    events.read = reader_.TakeResults();
    return events;
  }
  bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes) override {
    return worker_.Write(std::move(header), std::move(bytes));
  }
  bool MayWrite(uint64_t bytes) const override { return worker_.MayWrite(bytes); }
  Result<Bytes> Read(const ObjectName& name) override { return worker_.Read(name); }
  void StartRead(const ObjectName& name) override { reader_.Start(name); }
  bool Adopt(const ObjectName& name, double ms_max) override { return worker_.Adopt(name, ms_max); }
  void Touch(const ObjectName& name) override { worker_.Touch(name); }
  void Remove(const ObjectName& name) override { worker_.Remove(name); }
  bool Drain(double ms_max) override { return worker_.Drain(ms_max); }
  Stats stats() const override { return worker_.stats(); }

 private:
  DiskWorker worker_;
  DiskReader reader_;
  std::promise<void> scanned_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace

std::unique_ptr<DiskStore> DiskStore::Open(Fs* fs, DiskStoreOptions options) {
  std::function<void()> wake = options.wake;
  return std::make_unique<ThreadedDiskStore>(fs, std::move(options), std::move(wake));
}

}  // namespace cairn
