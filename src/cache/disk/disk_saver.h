// DiskSaver: decides which objects of the cache are worth saving beyond this process, and in which
// order. An object is worth saving when the prefill it will likely spare takes longer than writing
// and reading it. The segments before it are saved first.
//
// Does nothing if the store does not save.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_DISK_DISK_SAVER_H_
#define CAIRN_CACHE_DISK_DISK_SAVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cache/object_table.h"
#include "store/object.h"

namespace cairn {

class DiskSaver {
 public:
  struct Step {
    bool began = false;     // the save of another object has begun
    size_t bytes_left = 0;  // of objects that are worth saving and whose save has not begun
  };

  // `table` must outlive this object.
  explicit DiskSaver(ObjectTable* table) : table_(table) {}

  // Begins to save the object with the most value per byte, if any is worth saving.
  Step SaveNext(double prefill_ms_per_token);
  // Saves an object instead of evicting it; it then leaves memory only. Returns false if it is not
  // worth its bytes, or if too many bytes are waiting to be written.
  bool SaveInstead(uint64_t id);

 private:
  struct Unsaved {
    uint64_t id = 0;
    double worth_ms = 0;
    size_t bytes = 0;  // including the segments that must be saved before it
  };

  // All objects worth saving, by the prefill speed last passed to SaveNext. The others return
  // nullopt if the object is not worth its bytes or cannot be saved.
  std::vector<Unsaved> WorthSaving() const;
  std::optional<Unsaved> WorthOf(uint64_t id) const;
  std::optional<Unsaved> Worth(const CheckpointEntry& entry) const;
  std::optional<Unsaved> WorthAlone(const SegmentIndex::Segment& segment) const;
  std::optional<Unsaved> Worth(const FullState& whole) const;
  // Begins to save `wanted`, or the first segment before it that is not saved.
  bool SaveFirst(const Unsaved& wanted);
  // Unsaved bytes of the segments up to the end of `segment`. Returns nullopt if one of them cannot
  // be saved.
  std::optional<size_t> UnsavedBytesTo(SegmentId segment) const;
  // The first unsaved object on the path to `id`: a segment, or the object itself.
  uint64_t FirstUnsaved(uint64_t id) const;
  std::optional<ObjectHeader> HeaderOf(uint64_t id) const;

  ObjectTable* const table_;
  double prefill_ms_per_token_ = 0;  // 0: not known yet
};

}  // namespace cairn

#endif  // CAIRN_CACHE_DISK_DISK_SAVER_H_
