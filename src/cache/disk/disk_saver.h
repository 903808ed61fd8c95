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

#include "cache/objects/object_table.h"
#include "policy/eviction.h"
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

  // Begins to save the object with the most value per byte, if any is worth saving before it leaves
  // memory: the ends of conversations, and what several share. The next turn makes the rest
  // worthless, so it is saved when it is evicted, if it is still worth that then. `last`: there are
  // no next turns before the server ends.
  Step SaveNext(double prefill_ms_per_token, bool last = false);
  // Whether SaveNext was last called with `last`.
  bool saves_all() const { return last_; }
  // How many bytes SaveInstead would write; nullopt if the object is not worth them, or if the
  // store does not take them now.
  std::optional<size_t> BytesToSave(const EvictionCandidate& candidate) const;
  // Records a prompt of so many turns, from which the saver learns how many conversations go on.
  void Learn(size_t turns);
  // Saves an object instead of evicting it; it then leaves memory only. Where the queue has room
  // for only some of those before it, these are saved, and can leave memory in its place. Returns
  // false if the object is not worth its bytes, or if nothing was saved.
  bool SaveInstead(const EvictionCandidate& candidate);

 private:
  struct Unsaved {
    uint64_t id = 0;
    double worth_ms = 0;
    size_t bytes = 0;  // including the segments that must be saved before it
  };

  // All objects worth saving, by the prefill speed last passed to SaveNext. The others return
  // nullopt if the object is not worth its bytes or cannot be saved.
  std::vector<Unsaved> WorthSaving() const;
  std::optional<Unsaved> WorthOf(const EvictionCandidate& candidate) const;
  // `leaving`: the slot that holds the attention KV of the checkpoint stores it later, or has
  // stored it.
  std::optional<Unsaved> Worth(const CheckpointEntry& entry, bool leaving) const;
  std::optional<Unsaved> WorthAlone(const SegmentIndex::Segment& segment) const;
  std::optional<Unsaved> Worth(const FullState& whole) const;
  // The prefill time that the checkpoint likely spares, beside the saved one before it.
  double WorthMs(const CheckpointEntry& entry) const;
  // The position of the saved checkpoint before it; 0 if there is none.
  size_t SavedPositionBefore(const CheckpointEntry& entry) const;
  // Whether the checkpoint is worth the bytes of its snapshot.
  bool PaysItsWrite(const CheckpointEntry& entry, const Unsaved& unsaved) const;
  // How likely the conversation that ends at the checkpoint goes on, and does so there; 0: other
  // rules count it.
  double LikelyGoesOn(const CheckpointEntry& entry) const;
  // Whether the next turn of the conversation is likely to leave nothing of its use.
  bool IsInPassing(const CheckpointEntry& entry) const;
  // Begins to save `wanted`, or the first segment before it that is not saved.
  bool SaveFirst(const Unsaved& wanted);
  // Unsaved bytes of the segments up to the end of `segment`. Returns nullopt if one of them cannot
  // be saved.
  std::optional<size_t> UnsavedBytesTo(SegmentId segment) const;
  // The first unsaved object on the path to `id`: a segment, or the object itself.
  uint64_t FirstUnsaved(uint64_t id) const;
  std::optional<ObjectHeader> HeaderOf(uint64_t id) const;

  // Before any prompt has come, conversations are taken to go on, as so many have.
  static constexpr double kTurnsBefore = 64;

  ObjectTable* const table_;
  double prefill_ms_per_token_ = 0;  // 0: not known yet
  bool last_ = false;                // as passed to SaveNext
  // Prompts of one turn and of two, the older ones counted less.
  double first_turns_ = kTurnsBefore;
  double second_turns_ = kTurnsBefore;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_DISK_DISK_SAVER_H_
