// DiskWorker: the disk store without its thread. Whoever calls Step() is the I/O thread, so a test
// can be it, and play the same story twice.
//
//   the caller's thread            |  the I/O thread
//   Write, Touch, Remove -> queue -+-> Step: scan, touches, one task -> DiskFolder
//   TakeNews              <- news -+-- what came of it
//   Read -> the file itself        |
//
// Threads: as each part says.

#ifndef CAIRN_STORE_DISK_DISK_WORKER_H_
#define CAIRN_STORE_DISK_DISK_WORKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fs.h"
#include "store/disk/disk_folder.h"
#include "store/disk/disk_queue.h"
#include "store/disk/disk_store.h"
#include "store/disk/disk_trouble.h"

namespace cairn {

class DiskWorker {
 public:
  // As DiskStore::Open.
  DiskWorker(Fs* fs, DiskStoreOptions options);

  // The caller's: see DiskStore.
  DiskStore::News TakeNews();
  bool Write(ObjectHeader header, std::shared_ptr<const Bytes> bytes);
  Result<Bytes> Read(const ObjectName& name);
  void Touch(const ObjectName& name) { queue_.PushTouch(name); }
  void Remove(const ObjectName& name) { queue_.PushRemove(name); }
  bool Drain(double ms_max) { return queue_.WaitUntilDone(ms_max); }

  // The I/O thread's.
  // Scans if it is time to, else notes the uses and does one task. Returns after how many seconds
  // there may be more to do, if nothing is pushed before; 0: at once.
  double Step();
  // The same where there may be no memory for it: then the job at hand is given up.
  double TryStep();
  // Steps until Stop.
  void Run();

  // Any thread.
  DiskStore::Stats stats() const;
  void Stop() { queue_.Stop(); }

 private:
  double SecondsToScan() const;
  // What was found is told of in parts; see DiskStoreOptions::found_bytes_max.
  bool TellsMore() const;
  // Hands over what came of the last step, and wakes the caller when there is something.
  void Publish();
  // There was no memory for the job.
  void GiveUpJob();

  Fs* const fs_;
  const DiskStoreOptions options_;
  const std::string own_path_;
  DiskTrouble trouble_;
  std::atomic<bool> refusing_{false};  // as the folder was after the last step
  DiskQueue queue_;

  // The I/O thread's.
  DiskFolder folder_;
  std::optional<int64_t> scanned_ns_;
  std::optional<DiskFolder::WriteJob> job_;

  mutable std::mutex mutex_;  // guards the rest
  DiskStore::News news_;
  DiskStore::Stats stats_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_WORKER_H_
