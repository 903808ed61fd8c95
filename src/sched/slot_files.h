// SlotFiles: saves conversations to files named by a client, and restores them. A file holds
// everything needed to resume: the slot's attention KV, the state at its end, and the checkpoints
// on its path. It is a file of exported objects (store/export_file.h), so `cairn cache import`
// accepts it too, and a file of `cairn cache export` can be restored.
//
//   connection thread   | take | encode, write | take | encode, write | …   sync, rename
//   context thread      | one part |  others' steps   | one part |  others' steps …
//
// So other slots wait for a part to be copied in memory but never for the disk, and at most one
// part is held twice. Restore reads and checks the complete file on the connection's thread; the
// context thread only restores the states, as it does for those from the cache.
//
// Threads: any but the context thread.

#ifndef CAIRN_SCHED_SLOT_FILES_H_
#define CAIRN_SCHED_SLOT_FILES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "sched/slots/saved_slot.h"
#include "store/export_file.h"

namespace cairn {

class SlotCommands;

struct SlotFilesOptions {
  std::string folder;  // must exist
  // Files must have the same fingerprint, and the client's own namespace.
  SavedAs saved_as;
  Codec codec = Codec::kRaw;
  bool needs_snapshots = false;  // see MemoryTraits
  // Otherwise files with images or audio are refused: no request could continue them.
  bool takes_media = true;
};

class SlotFiles {
 public:
  struct Done {
    size_t tokens = 0;
    uint64_t bytes = 0;  // the file's size
    double ms = 0;
  };

  // All must outlive this object.
  SlotFiles(Fs* fs, SlotCommands* slots, const Clock* clock, SlotFilesOptions options);

  // Removes temporary files of saves whose process was killed: those not written to for an hour.
  // `now_ns`: nanoseconds since 1970.
  void RemoveLeftovers(int64_t now_ns);
  // Sets the names of namespaces. Any thread.
  void SetNameSpaces(SavedNames name_spaces);

  // Whether `name` is allowed as a file name: it leads to no other folder, on any operating system.
  static bool IsFileName(std::string_view name);

  // Writes a slot's contents. A file of that name is replaced once the new one is complete, and
  // stays if saving fails. Errors as in SlotArchive::BeginSaving; kNoSpace if the device is full;
  // kInternal for any other failure to write.
  // REQUIRES: IsFileName(file).
  Result<Done> Save(size_t slot, NamespaceId name_space, const std::string& file);
  // Restores a saved file into a slot. The slot is checked before the file is read. One file is
  // read at a time, because all of it is held in memory. kInvalidArgument if there is no such file,
  // or it is corrupt or of another version, model or client, or has media that the server does not
  // take; then nothing has changed. Other errors as in SlotArchive::Restore.
  // REQUIRES: IsFileName(file).
  Result<Done> Restore(size_t slot, NamespaceId name_space, const std::string& file);

 private:
  class Holding;

  Result<uint64_t> NameOf(NamespaceId name_space) const;
  std::string PathOf(const std::string& file) const { return options_.folder + "/" + file; }
  Status WriteParts(size_t slot, const SlotContent& content, uint64_t name_space,
                    ExportWriter* writer);
  Status WriteObject(ObjectHeader header, const Bytes& bytes, ExportWriter* writer) const;
  Result<std::vector<LoadedObject>> ReadObjects(uint64_t name_space, ExportReader* reader) const;
  Status CheckOwner(const ObjectHeader& header, uint64_t name_space) const;

  Fs* const fs_;
  SlotCommands* const slots_;
  const Clock* const clock_;
  const SlotFilesOptions options_;
  mutable Mutex names_mutex_;
  SavedAs saved_as_ GUARDED_BY(names_mutex_);  // with the names of now
  Mutex restore_mutex_;                        // guards no member: held while a file is read
  std::atomic<uint64_t> temps_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOT_FILES_H_
