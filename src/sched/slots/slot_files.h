// SlotFiles: conversations that a client saves to files of its choice and restores from them. A
// file holds all that is needed to go on: the slot's attention KV, the state at its end, and the
// checkpoints on its path. It is a file of exported objects (store/export_file.h), so that `cairn
// cache import` takes it too, and what `cairn cache export` wrote can be restored.
//
//   connection thread   | take | encode, write | take | encode, write | …   sync, rename
//   context thread      | one part |  others' steps   | one part |  others' steps …
//
// So other slots wait for a part to be copied in memory and never for the disk, and no more than a
// part is held twice. Restoring reads and checks the whole file on the connection's thread; the
// context thread only sets it, as it sets what comes back from the cache.
//
// Threads: any, but the context's.

#ifndef CAIRN_SCHED_SLOTS_SLOT_FILES_H_
#define CAIRN_SCHED_SLOTS_SLOT_FILES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "sched/slots/saved_slot.h"
#include "sched/slots/slot_commands.h"
#include "store/export_file.h"

namespace cairn {

struct SlotFilesOptions {
  std::string folder;  // which is there
  // What is restored must be of the same fingerprint, and of the client's own namespace.
  SavedAs saved_as;
  Codec codec = Codec::kRaw;
  bool needs_snapshots = false;  // see MemoryTraits
};

class SlotFiles {
 public:
  struct Done {
    size_t tokens = 0;
    uint64_t bytes = 0;  // of the file
    double ms = 0;
  };

  // All outlive it.
  SlotFiles(Fs* fs, SlotCommands* slots, const Clock* clock, SlotFilesOptions options);

  // Removes what saves left behind whose process was killed: temporary files that nobody has
  // written to for an hour. `now_ns`: since 1970.
  void RemoveLeftovers(int64_t now_ns);
  // Which namespaces have which names from now on. Any thread.
  void SetNameSpaces(std::vector<std::pair<NamespaceId, uint64_t>> name_spaces);

  // Whether a name is one that a file may have: it leads to no other folder, whatever the system.
  static bool IsFileName(std::string_view name);

  // Writes what a slot holds. A file of that name is replaced when the new one is whole, and stays
  // where that fails. Errors: those of SlotArchive::BeginSaving; kNoSpace: the device is full;
  // kInternal: anything else that keeps it from being written.
  // REQUIRES: IsFileName(file).
  Result<Done> Save(size_t slot, NamespaceId name_space, const std::string& file);
  // Makes a slot what was saved. The slot is asked for before the file is read, and one file is
  // read at a time, as all of it is in memory then. kInvalidArgument: there is no such file, it is
  // broken, of another version, model or client; nothing has changed. Else those of
  // SlotArchive::Restore. REQUIRES: IsFileName(file).
  Result<Done> Restore(size_t slot, NamespaceId name_space, const std::string& file);

 private:
  class Holding;

  Result<uint64_t> NameOf(NamespaceId name_space) const;
  std::string PathOf(const std::string& file) const { return options_.folder + "/" + file; }
  Status WritePieces(size_t slot, const SlotContent& content, uint64_t name_space,
                     ExportWriter* writer);
  Status WriteObject(ObjectHeader header, const Bytes& bytes, ExportWriter* writer) const;
  Result<std::vector<LoadedObject>> ReadObjects(uint64_t name_space, ExportReader* reader) const;
  Status CheckOwner(const ObjectHeader& header, uint64_t name_space) const;

  Fs* const fs_;
  SlotCommands* const slots_;
  const Clock* const clock_;
  SlotFilesOptions options_;
  mutable std::mutex names_mutex_;  // guards options_.saved_as.name_spaces; the rest is constant
  std::mutex restore_mutex_;        // held while a file is read
  std::atomic<uint64_t> temps_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SLOT_FILES_H_
