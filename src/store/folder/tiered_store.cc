// TieredStore: memory in front of a disk. Saved snapshots may leave memory and are read again when
// needed.

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "store/disk/disk_store.h"
#include "store/snapshot_store.h"

namespace cairn {
namespace {

using SharedBytes = std::shared_ptr<const Bytes>;

class TieredStore final : public SnapshotStore {
 public:
  explicit TieredStore(DiskStore* disk) : disk_(disk) {}

  Status Put(SnapshotId id, Bytes bytes) override {
    // The buffer's size may have been a guess; its unused capacity must not take memory that is not
    // counted.
    bytes.shrink_to_fit();
    bytes_ += bytes.size();
    Held held;
    held.memory = std::make_shared<const Bytes>(std::move(bytes));
    const bool added = held_.emplace(id, std::move(held)).second;
    CHECK(added);
    return {};
  }

  Result<ByteSpan> Get(SnapshotId id) override {
    const auto found = held_.find(id);
    if (found == held_.end()) return Fail(ErrorCode::kNotFound, "the snapshot is gone");
    Held& held = found->second;
    if (held.memory != nullptr) return ByteSpan(*held.memory);
    if (held.loaded == nullptr) held.loaded = held.queued.lock();
    if (held.loaded == nullptr) {
      if (held.name.empty()) return Fail(ErrorCode::kNotFound, "the file could not be read");
      auto bytes = disk_->Read(held.name);
      if (!bytes) {
        LoseName(&held);
        return tl::unexpected(bytes.error());
      }
      held.loaded = std::make_shared<const Bytes>(std::move(*bytes));
    }
    return ByteSpan(*held.loaded);
  }

  void Use(SnapshotId id) override {
    const auto found = held_.find(id);
    if (found == held_.end()) return;
    const Held& held = found->second;
    const bool saved = held.place == Place::kBoth || held.place == Place::kSavedOnly;
    if (saved && !held.name.empty()) disk_->Touch(held.name);
  }

  void Erase(SnapshotId id) override {
    const auto found = held_.find(id);
    if (found == held_.end()) return;
    Held held = std::move(found->second);
    held_.erase(found);
    SetFileBytes(&held, 0);
    if (held.memory != nullptr) bytes_ -= held.memory->size();
    if (held.name.empty()) return;
    by_name_.erase(held.name);
    disk_->Remove(held.name);
  }

  size_t bytes() const override { return bytes_; }

  bool saves() const override { return true; }

  bool Save(SnapshotId id, const ObjectHeader& header) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kUnsaved);
    const ObjectName name = cairn::NameOf(header);
    // The same bits under another id: one copy is enough.
    if (by_name_.contains(name)) {
      held.place = Place::kRefused;
      return true;
    }
    if (!disk_->Write(header, held.memory)) return false;
    held.place = Place::kSaving;
    held.name = name;
    // As long as its size on disk is not known, the largest that it can be.
    SetFileBytes(&held, held.memory->size() + header.tokens.size() * sizeof(Token));
    by_name_.emplace(name, id);
    return true;
  }

  bool MaySave(size_t bytes) const override { return disk_->MayWrite(bytes); }

  uint64_t saved_bytes() const override { return file_bytes_; }

  // Other models' files take what they have, but at most half of the room: the disk evicts the
  // oldest of them when objects of this model come.
  uint64_t saved_bytes_max() const override {
    const SavedStats stats = disk_->stats();
    const uint64_t beside = stats.bytes_max - std::min(stats.bytes_max, stats.other_bytes);
    return std::max(beside, stats.bytes_max / 2);
  }

  Place PlaceOf(SnapshotId id) const override {
    const auto found = held_.find(id);
    CHECK(found != held_.end());
    return found->second.place;
  }

  void Release(SnapshotId id) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kBoth || held.place == Place::kSaving);
    bytes_ -= held.memory->size();
    held.queued = held.memory;
    held.memory = nullptr;
    held.place = Place::kSavedOnly;
  }

  void Unload(SnapshotId id) override {
    const auto found = held_.find(id);
    if (found != held_.end()) found->second.loaded = nullptr;
  }

  void StartRead(SnapshotId id) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kSavedOnly);
    if (held.loaded == nullptr) held.loaded = held.queued.lock();
    if (held.loaded == nullptr && !held.name.empty()) {
      reads_.emplace(held.name, id);
      disk_->StartRead(held.name);
    } else {
      at_hand_.push_back(id);
    }
  }

  void KeepRead(SnapshotId id) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kSavedOnly && held.loaded != nullptr);
    held.memory = std::move(held.loaded);
    held.loaded = nullptr;
    held.place = Place::kBoth;
    bytes_ += held.memory->size();
  }

  Events TakeEvents() override {
    DiskStore::Events disk = disk_->TakeEvents();
    Events events;
    for (auto& [name, bytes] : disk.read) TakeRead(name, std::move(bytes), &events);
    for (const SnapshotId id : std::exchange(at_hand_, {})) TellRead(id, &events);
    for (const DiskStore::Written& one : disk.written) TakeWritten(one);
    for (const ObjectName& name : disk.failed) Forget(name, Place::kUnsaved, &events);
    for (const ObjectName& name : disk.refused) Forget(name, Place::kRefused, &events);
    for (const ObjectName& name : disk.gone) Forget(name, Place::kRefused, &events);
    for (const ObjectName& name : disk.vanished) Forget(name, Place::kUnsaved, &events);
    for (ListedObject& object : disk.found) {
      if (!by_name_.contains(cairn::NameOf(object))) events.found.push_back(std::move(object));
    }
    return events;
  }

  void Adopt(SnapshotId id, const ObjectHeader& header) override {
    const ObjectName name = cairn::NameOf(header);
    Held& held = held_[id];
    CHECK(held.name.empty() && !by_name_.contains(name));
    held.name = name;
    held.place = held.memory == nullptr ? Place::kSavedOnly : Place::kBoth;
    SetFileBytes(&held, header.stored_bytes + header.tokens.size() * sizeof(Token));
    by_name_.emplace(name, id);
  }

  std::optional<SnapshotId> Find(const ObjectName& name) const override {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
  }

  ObjectName NameOf(SnapshotId id) const override {
    const auto found = held_.find(id);
    return found == held_.end() ? ObjectName{} : found->second.name;
  }

  SavedStats saved_stats() const override { return disk_->stats(); }

 private:
  struct Held {
    SharedBytes memory = nullptr;            // counted; null if saved only
    SharedBytes loaded = nullptr;            // loaded for one use, not counted
    std::weak_ptr<const Bytes> queued = {};  // released before it was written
    ObjectName name = {};                    // set once it is saved or being saved
    uint64_t file_bytes = 0;                 // as counted in file_bytes_
    Place place = Place::kUnsaved;
  };

  Held& HeldOf(SnapshotId id) {
    const auto found = held_.find(id);
    CHECK(found != held_.end());
    return found->second;
  }

  void SetFileBytes(Held* held, uint64_t bytes) {
    file_bytes_ = file_bytes_ - held->file_bytes + bytes;
    held->file_bytes = bytes;
  }

  void TakeWritten(const DiskStore::Written& one) {
    const auto found = by_name_.find(one.name);
    if (found == by_name_.end()) return;  // erased meanwhile
    Held& held = HeldOf(found->second);
    SetFileBytes(&held, one.bytes);
    if (held.place == Place::kSaving) held.place = Place::kBoth;
  }

  void TakeRead(const ObjectName& name, Result<Bytes> bytes, Events* events) {
    const auto read = reads_.find(name);
    CHECK(read != reads_.end());
    const SnapshotId id = read->second;
    reads_.erase(read);
    const auto found = held_.find(id);
    if (found != held_.end() && found->second.loaded == nullptr) {
      Held& held = found->second;
      if (bytes) {
        held.loaded = std::make_shared<const Bytes>(std::move(*bytes));
      } else {
        LoseName(&held);
      }
    }
    TellRead(id, events);
  }

  void TellRead(SnapshotId id, Events* events) const {
    const auto found = held_.find(id);
    if (found == held_.end() || found->second.loaded == nullptr) {
      events->unreadable.push_back(id);
    } else {
      events->arrived.push_back({id, found->second.loaded->size()});
    }
  }

  // A failed read does not make the file bad: it is useless for this process, and stays for the
  // next one.
  void LoseName(Held* held) {
    by_name_.erase(held->name);
    held->name = {};
    SetFileBytes(held, 0);
  }

  // Handles an object that is not on disk, or no longer. `place` applies if it is in memory.
  void Forget(const ObjectName& name, Place place, Events* events) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    Held& held = HeldOf(found->second);
    SetFileBytes(&held, 0);
    if (held.memory == nullptr) {
      events->lost.push_back(found->second);
      return;  // the cache erases it
    }
    held.place = place;
    held.name = {};
    by_name_.erase(found);
  }

  DiskStore* const disk_;
  std::unordered_map<SnapshotId, Held> held_;
  std::map<ObjectName, SnapshotId> by_name_;
  std::multimap<ObjectName, SnapshotId> reads_;
  std::vector<SnapshotId> at_hand_;  // results of StartRead that took no read
  size_t bytes_ = 0;
  uint64_t file_bytes_ = 0;
};

}  // namespace

std::unique_ptr<SnapshotStore> MakeTieredStore(DiskStore* disk) {
  return std::make_unique<TieredStore>(disk);
}

}  // namespace cairn
