#include "sim/sized_store.h"

#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

constexpr size_t kClaimBytes = sizeof(uint64_t);

class SizedStore final : public SnapshotStore {
 public:
  explicit SizedStore(size_t logits_bytes) : logits_bytes_(logits_bytes) {}

  size_t BytesFor(ByteSpan bytes) const override {
    const size_t claimed = bytes.size() < kClaimBytes ? 0 : ClaimedBytes(bytes);
    return claimed + (bytes.size() % kClaimBytes == 0 ? 0 : logits_bytes_);
  }

  Status Put(SnapshotId id, Bytes bytes) override {
    bytes_ += BytesFor(bytes);
    const bool added = claims_.emplace(id, std::move(bytes)).second;
    CHECK(added);
    return {};
  }

  Result<ByteSpan> Get(SnapshotId id) override {
    const auto found = claims_.find(id);
    if (found == claims_.end()) return Fail(ErrorCode::kNotFound, "the snapshot is gone");
    return ByteSpan(found->second);
  }

  void Erase(SnapshotId id) override {
    const auto found = claims_.find(id);
    if (found == claims_.end()) return;
    bytes_ -= BytesFor(found->second);
    claims_.erase(found);
  }

  size_t bytes() const override { return bytes_; }

 private:
  const size_t logits_bytes_;
  std::unordered_map<SnapshotId, Bytes> claims_;
  size_t bytes_ = 0;
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

std::unique_ptr<SnapshotStore> MakeSizedStore(size_t logits_bytes) {
  return std::make_unique<SizedStore>(logits_bytes);
}

}  // namespace cairn
