// NoneStore: keeps nothing, for a server without a cache.

#include "store/snapshot_store.h"

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

}  // namespace

std::unique_ptr<SnapshotStore> MakeNoneStore() {
  return std::make_unique<NoneStore>();
}

}  // namespace cairn
