// SizedStore: a snapshot store whose states are only sizes. A state of hundreds of megabytes is a
// claim of eight bytes. The store counts the claimed bytes, so that the cache holds its budget as
// with real states.
//
// A row of logits may follow a claim, or be alone: sizeof(float) bytes stand for the whole row.
//
// If there is a disk, saved objects are on it at once and may be dropped from memory.
//
// Threads: one.

#ifndef CAIRN_TRACE_REPLAY_SIZED_STORE_H_
#define CAIRN_TRACE_REPLAY_SIZED_STORE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "store/snapshot_store.h"
#include "trace/replay/sized_disk.h"

namespace cairn {

// Returns a claim of `bytes`, followed by a row of logits if `logits`; without bytes it is the row
// alone. REQUIRES: one of both.
Bytes ClaimBytes(size_t bytes, bool logits = false);
// Returns the claimed bytes without logits. REQUIRES: `claim` has a claim.
size_t ClaimedBytes(ByteSpan claim);

class SizedStore final : public SnapshotStore {
 public:
  // `logits_bytes`: the size of a row of logits. `disk` outlives the store.
  SizedStore(size_t logits_bytes, SizedDisk* disk) : logits_bytes_(logits_bytes), disk_(disk) {}

  // Puts an object on disk that another server made, so that the cache takes it in with the next
  // events. Returns false if the disk refuses it. REQUIRES: there is a disk.
  bool Stage(const ObjectHeader& header, Bytes claim);
  // `on_gone` is called with the id of each object before the disk evicts it; the cache must not be
  // changed then.
  void SetOnGone(std::function<void(SnapshotId id)> on_gone) { on_gone_ = std::move(on_gone); }

  size_t BytesFor(ByteSpan bytes) const override;
  Status Put(SnapshotId id, Bytes bytes) override;
  Result<ByteSpan> Get(SnapshotId id) override;
  void Erase(SnapshotId id) override;
  size_t bytes() const override { return bytes_; }
  bool saves() const override { return disk_->is_there(); }
  bool Save(SnapshotId id, const ObjectHeader& header) override;
  bool MaySave(size_t bytes) const override { return disk_->MayWrite(bytes); }
  uint64_t saved_bytes() const override { return disk_->bytes(); }
  uint64_t saved_bytes_max() const override { return disk_->bytes_max(); }
  Place PlaceOf(SnapshotId id) const override;
  void Release(SnapshotId id) override;
  // The disk's time passes here; the result is there at once.
  void StartRead(SnapshotId id) override;
  void KeepRead(SnapshotId id) override;
  Events TakeEvents() override;
  void Adopt(SnapshotId id, const ObjectHeader& header) override;
  std::optional<SnapshotId> Find(const ObjectName& name) const override;
  ObjectName NameOf(SnapshotId id) const override;

 private:
  struct Held {
    Bytes claim;
    ObjectName name = {};  // of the object on disk
  };

  Held& HeldOf(SnapshotId id);
  void SetPlace(SnapshotId id, Place place);
  // The disk has evicted the object.
  void Forget(const ObjectName& name);

  const size_t logits_bytes_;
  SizedDisk* const disk_;
  std::function<void(SnapshotId id)> on_gone_;
  std::unordered_map<SnapshotId, Held> held_;
  // By id, because the cache asks for the places of all objects again and again; nullopt: not held.
  std::vector<std::optional<Place>> places_;
  std::map<ObjectName, SnapshotId> by_name_;
  std::map<ObjectName, Bytes> staged_;  // claims of objects on disk that the cache has not taken in
  Events events_;
  size_t bytes_ = 0;  // in memory
};

}  // namespace cairn

#endif  // CAIRN_TRACE_REPLAY_SIZED_STORE_H_
