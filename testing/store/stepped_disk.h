// For tests: SteppedDisk, a DiskStore on a MemoryFs without threads. Every call does its work at
// once, so a test decides what happens when.

#ifndef CAIRN_TESTING_STORE_STEPPED_DISK_H_
#define CAIRN_TESTING_STORE_STEPPED_DISK_H_

#include <memory>
#include <utility>
#include <vector>

#include "store/disk/disk_store.h"
#include "store/disk/disk_worker.h"
#include "testing/base/memory_fs.h"

namespace cairn::test {

class SteppedDisk final : public DiskStore {
 public:
  SteppedDisk(MemoryFs* fs, const DiskStoreOptions& options) : worker_(fs, options) { Settle(); }

  // Does all that is left to do now.
  void Settle() {
    while (worker_.Step() == 0) {
    }
  }

  void Stop() override {}
  Events TakeEvents() override {
    Events events = worker_.TakeEvents();
    events.read = std::exchange(read_, {});
    return events;
  }
  bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes) override {
    const bool taken = worker_.Write(std::move(header), std::move(bytes));
    Settle();
    return taken;
  }
  bool MayWrite(uint64_t bytes) const override { return worker_.MayWrite(bytes); }
  Result<Bytes> Read(const ObjectName& name) override { return worker_.Read(name); }
  void StartRead(const ObjectName& name) override { read_.emplace_back(name, Read(name)); }
  bool Adopt(const ObjectName& name, double /*ms_max*/) override {
    // The worker does not wait for itself.
    (void)worker_.Adopt(name, 0);
    Settle();
    return true;
  }
  void Touch(const ObjectName& name) override {
    worker_.Touch(name);
    Settle();
  }
  void Remove(const ObjectName& name) override {
    worker_.Remove(name);
    Settle();
  }
  bool Drain(double /*ms_max*/) override {
    Settle();
    return true;
  }
  SavedStats stats() const override { return worker_.stats(); }

 private:
  DiskWorker worker_;
  std::vector<std::pair<ObjectName, Result<Bytes>>> read_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_STORE_STEPPED_DISK_H_
