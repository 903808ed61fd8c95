// DiskSaver: which objects of the cache are worth saving beyond this process, and in which order.
// An object is worth it when the prefill that it likely spares takes longer than writing and
// reading it. The segments before it are saved first.
//
// Does nothing where the store does not save.
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
    bool began = false;     // an object is on its way that was not
    size_t bytes_left = 0;  // of those that are worth saving and are not on their way yet
  };

  // `table` outlives it.
  explicit DiskSaver(ObjectTable* table) : table_(table) {}

  // Begins to save the object that is worth most for its bytes, if any is worth it.
  Step SaveNext(double prefill_ms_per_token);
  // An object that is to be evicted is saved instead, and leaves memory only. False: it is not
  // worth its bytes, or too much is on its way already.
  bool SaveInstead(uint64_t id);

 private:
  struct Unsaved {
    uint64_t id = 0;
    double worth_ms = 0;
    size_t bytes = 0;  // with the segments that must be saved before it
  };

  // All that is, by the prefill speed that SaveNext was told last. Nothing: it is not worth its
  // bytes, or cannot be saved.
  std::vector<Unsaved> WorthSaving() const;
  std::optional<Unsaved> WorthOf(uint64_t id) const;
  std::optional<Unsaved> Worth(const CheckpointEntry& entry) const;
  std::optional<Unsaved> WorthAlone(const SegmentIndex::Segment& segment) const;
  std::optional<Unsaved> Worth(const FullState& whole) const;
  // Begins to save the first object that is missing for it.
  bool SaveFirst(const Unsaved& wanted);
  // Of the segments on the way to the end of one. Nothing: one of them cannot be saved.
  std::optional<size_t> UnsavedBytesTo(SegmentId segment) const;
  // The first on the way to `id` that is unsaved: a segment, or itself.
  uint64_t FirstUnsaved(uint64_t id) const;
  std::optional<ObjectHeader> HeaderOf(uint64_t id) const;

  ObjectTable* const table_;
  double prefill_ms_per_token_ = 0;  // 0: nobody has said
};

}  // namespace cairn

#endif  // CAIRN_CACHE_DISK_DISK_SAVER_H_
