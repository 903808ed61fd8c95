#include "lab/sim/sized_store.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cairn {
namespace {

constexpr size_t kClaimBytes = sizeof(uint64_t);

class SizedStore final : public SnapshotStore {
 public:
  SizedStore(size_t logits_bytes, SizedDisk* disk) : logits_bytes_(logits_bytes), disk_(disk) {}

  size_t BytesFor(ByteSpan bytes) const override {
    const size_t claimed = bytes.size() < kClaimBytes ? 0 : ClaimedBytes(bytes);
    return claimed + (bytes.size() % kClaimBytes == 0 ? 0 : logits_bytes_);
  }

  Status Put(SnapshotId id, Bytes bytes) override {
    bytes_ += BytesFor(bytes);
    const bool added = held_.emplace(id, Held{std::move(bytes)}).second;
    CHECK(added);
    return {};
  }

  Result<ByteSpan> Get(SnapshotId id) override {
    const auto found = held_.find(id);
    if (found == held_.end()) return Fail(ErrorCode::kNotFound, "the snapshot is gone");
    const Held& held = found->second;
    if (!held.name.empty()) disk_->Touch(held.name);
    if (held.place == Place::kSavedOnly) disk_->Read(held.name);
    return ByteSpan(held.claim);
  }

  void Erase(SnapshotId id) override {
    const auto found = held_.find(id);
    if (found == held_.end()) return;
    const Held& held = found->second;
    if (held.place != Place::kSavedOnly) bytes_ -= BytesFor(held.claim);
    if (!held.name.empty()) {
      disk_->Remove(held.name);
      by_name_.erase(held.name);
    }
    held_.erase(found);
  }

  size_t bytes() const override { return bytes_; }

  bool saves() const override { return disk_->is_there(); }

  bool Save(SnapshotId id, const ObjectHeader& header) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kUnsaved);
    held.place = Place::kRefused;
    const ObjectName name = cairn::NameOf(header);
    std::vector<ObjectName> gone;
    if (by_name_.contains(name) || !disk_->Write(header, BytesFor(held.claim), &gone)) return true;
    held.place = Place::kBoth;
    held.name = name;
    by_name_.emplace(name, id);
    for (const ObjectName& other : gone) Forget(other);
    return true;
  }

  Place PlaceOf(SnapshotId id) const override {
    const auto found = held_.find(id);
    CHECK(found != held_.end());
    return found->second.place;
  }

  void Release(SnapshotId id) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kBoth);
    bytes_ -= BytesFor(held.claim);
    held.place = Place::kSavedOnly;
  }

  // The disk's time passes here; the result is there at once.
  void StartRead(SnapshotId id) override {
    const Held& held = HeldOf(id);
    disk_->Read(held.name);
    events_.arrived.push_back({id, BytesFor(held.claim)});
  }

  void KeepRead(SnapshotId id) override {
    Held& held = HeldOf(id);
    CHECK(held.place == Place::kSavedOnly);
    held.place = Place::kBoth;
    bytes_ += BytesFor(held.claim);
  }

  Events TakeEvents() override { return std::exchange(events_, {}); }

  std::optional<SnapshotId> Find(const ObjectName& name) const override {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
  }

  ObjectName NameOf(SnapshotId id) const override {
    const auto found = held_.find(id);
    return found == held_.end() ? ObjectName{} : found->second.name;
  }

 private:
  struct Held {
    Bytes claim;
    Place place = Place::kUnsaved;
    ObjectName name = {};  // of the object on disk
  };

  Held& HeldOf(SnapshotId id) {
    const auto found = held_.find(id);
    CHECK(found != held_.end());
    return found->second;
  }

  // The disk has evicted the object.
  void Forget(const ObjectName& name) {
    const SnapshotId id = by_name_.at(name);
    by_name_.erase(name);
    Held& held = HeldOf(id);
    held.name = {};
    if (held.place == Place::kSavedOnly) {
      events_.lost.push_back(id);
    } else {
      held.place = Place::kRefused;
    }
  }

  const size_t logits_bytes_;
  SizedDisk* const disk_;
  std::unordered_map<SnapshotId, Held> held_;
  std::map<ObjectName, SnapshotId> by_name_;
  Events events_;
  size_t bytes_ = 0;  // in memory
};

}  // namespace

Bytes ClaimBytes(size_t bytes) {
  const uint64_t claim = bytes;
  Bytes claimed(kClaimBytes);
  std::memcpy(claimed.data(), &claim, kClaimBytes);
  return claimed;
}

size_t ClaimedBytes(ByteSpan claim) {
  uint64_t bytes = 0;
  CHECK(claim.size() >= kClaimBytes);
  std::memcpy(&bytes, claim.data(), kClaimBytes);
  return bytes;
}

std::unique_ptr<SnapshotStore> MakeSizedStore(size_t logits_bytes, SizedDisk* disk) {
  return std::make_unique<SizedStore>(logits_bytes, disk);
}

}  // namespace cairn
