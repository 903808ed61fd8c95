// NoneStore: keeps nothing, for a server without a cache.

#include "store/snapshot_store.h"

#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

class NoneStore final : public SnapshotStore {
 public:
  Status Put(SnapshotId /*id*/, Bytes /*bytes*/) override {
    return Fail(ErrorCode::kUnavailable, "this store keeps nothing");
  }
  Result<std::span<const uint8_t>> Get(SnapshotId /*id*/) override {
    return Fail(ErrorCode::kNotFound, "this store keeps nothing");
  }
  void Erase(SnapshotId /*id*/) override {}
  size_t bytes() const override { return 0; }
};

// RamStore: keeps snapshots in this process's memory.
class RamStore final : public SnapshotStore {
 public:
  Status Put(SnapshotId id, Bytes bytes) override {
    // The buffer's size may have been a guess; its unused capacity must not take memory that is not
    // counted.
    bytes.shrink_to_fit();
    bytes_ += bytes.size();
    const bool added = snapshots_.emplace(id, std::move(bytes)).second;
    CHECK(added);
    return {};
  }

  Result<std::span<const uint8_t>> Get(SnapshotId id) override {
    const auto found = snapshots_.find(id);
    if (found == snapshots_.end()) return Fail(ErrorCode::kNotFound, "the snapshot is gone");
    return std::span<const uint8_t>(found->second);
  }

  void Erase(SnapshotId id) override {
    const auto found = snapshots_.find(id);
    if (found == snapshots_.end()) return;
    bytes_ -= found->second.size();
    snapshots_.erase(found);
  }

  size_t bytes() const override { return bytes_; }

 private:
  std::unordered_map<SnapshotId, Bytes> snapshots_;
  size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<SnapshotStore> MakeNoneStore() {
  return std::make_unique<NoneStore>();
}

std::unique_ptr<SnapshotStore> MakeRamStore() {
  return std::make_unique<RamStore>();
}

}  // namespace cairn
