// SavedMedia: the rows of media on disk, so that a medium is encoded once, also across restarts and
// when the rows have left memory. Each medium is an object of the disk store (store/object.h, kind
// kMediaRows), so it shares the folder's budget and is ranked for eviction like all others: by the
// time that it took to encode it, per byte, and by its uses.
//
//   an object's tokens   media tokens of a hash of the file, the projector and its settings
//   its payload          that hash in full, then the rows of each piece (docs/format.md)
//
// Each namespace has objects of its own. A file that is broken or of another medium is a miss.
//
// Threads: Load and Save are called by one thread, SetNameSpaces by any.

#ifndef CAIRN_SCHED_MEDIA_SAVED_MEDIA_H_
#define CAIRN_SCHED_MEDIA_SAVED_MEDIA_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/mutex.h"
#include "cache/objects/object_table.h"
#include "media/medium.h"
#include "sched/media/media_rows_format.h"
#include "store/disk/disk_store.h"
#include "store/object.h"

namespace cairn {

class SavedMedia {
 public:
  // `disk` outlives it. `encoder_identity`: see MediaEncoder::Identity. Media of namespaces that
  // `saved_as` does not name are not saved.
  SavedMedia(DiskStore* disk, SavedAs saved_as, std::string_view encoder_identity);

  // Reads the rows of `medium`; nullopt if they are not on disk, or not intact.
  std::optional<EncodedPieces> Load(NamespaceId name_space, const Medium& medium);
  // Begins to write them. `encode_ms`: the time that encoding took. Does nothing if the disk takes
  // no more at present.
  void Save(NamespaceId name_space, const Medium& medium, const EncodedPieces& pieces,
            double encode_ms);
  void SetNameSpaces(SavedNames name_spaces);

 private:
  // The header of the medium's object; nullopt if its namespace has no name.
  std::optional<ObjectHeader> HeaderOf(NamespaceId name_space, const Bits128& key) const;
  Bits128 KeyOf(const Medium& medium) const;

  DiskStore* const disk_;
  const Bits128 encoder_;
  mutable Mutex mutex_;
  SavedAs saved_as_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_SCHED_MEDIA_SAVED_MEDIA_H_
