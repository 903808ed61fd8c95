#include "lab/sim/sized_store.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "store/disk/disk_index.h"
#include "store/disk/disk_store.h"

namespace cairn {
namespace {

constexpr size_t kClaimBytes = sizeof(uint64_t);

}  // namespace

SizedDisk::SizedDisk(const SizedDiskOptions& options, ManualClock* clock)
    : options_(options), clock_(clock), model_(ToText(Fingerprint())) {}

int64_t SizedDisk::now_ns() const {
  return static_cast<int64_t>(clock_->NowMs() * kNsPerMs);
}

bool SizedDisk::Write(ObjectHeader header, size_t payload_bytes, std::vector<ObjectName>* gone) {
  header.raw_bytes = header.stored_bytes = payload_bytes;
  const ObjectName name = NameOf(header);
  const FileStat file{EncodeHeader(header).size() + payload_bytes, now_ns()};
  const DiskEntry& entry = index_.Put(DiskIndex::EntryOf(header, name, file));
  if (index_.bytes() > options_.bytes_max) {
    const auto freed = index_.ToFree(index_.bytes() - options_.bytes_max, &entry, now_ns(),
                                     DiskStoreOptions().half_life_s);
    if (!freed) {
      index_.Erase(model_, name);
      return false;
    }
    for (const DiskEntry& victim : *freed) {
      gone->push_back(victim.name);
      index_.Erase(model_, victim.name);
      ++moved_.evicted;
    }
  }
  moved_.written_bytes += file.bytes;
  written_ms_ = WrittenMs(file.bytes);
  return true;
}

double SizedDisk::WrittenMs(uint64_t bytes) const {
  return std::max(written_ms_, clock_->NowMs()) +
         static_cast<double>(bytes) / options_.write_bytes_per_s * kMsPerS;
}

bool SizedDisk::MayWrite(uint64_t bytes) const {
  const double queue_ms =
      static_cast<double>(options_.queue_bytes_max) / options_.write_bytes_per_s * kMsPerS;
  const bool empty = written_ms_ <= clock_->NowMs();
  return empty || WrittenMs(bytes) - clock_->NowMs() <= queue_ms;
}

void SizedDisk::Read(const ObjectName& name) {
  const DiskEntry* const entry = index_.Find(model_, name);
  CHECK(entry != nullptr);
  moved_.read_bytes += entry->bytes;
  clock_->Advance(static_cast<double>(entry->bytes) / options_.read_bytes_per_s * kMsPerS);
}

void SizedDisk::Touch(const ObjectName& name) {
  const DiskEntry* const entry = index_.Find(model_, name);
  CHECK(entry != nullptr);
  index_.SetTime(model_, name,
                 TimeAfterUses(entry->time_ns, now_ns(), 1, DiskStoreOptions().half_life_s));
}

Bytes ClaimBytes(size_t bytes, bool logits) {
  const uint64_t claim = bytes;
  Bytes claimed;
  if (bytes > 0 || !logits) {
    claimed.resize(kClaimBytes);
    std::memcpy(claimed.data(), &claim, kClaimBytes);
  }
  if (logits) claimed.resize(claimed.size() + sizeof(float));
  return claimed;
}

size_t ClaimedBytes(ByteSpan claim) {
  uint64_t bytes = 0;
  CHECK(claim.size() >= kClaimBytes);
  std::memcpy(&bytes, claim.data(), kClaimBytes);
  return bytes;
}

bool SizedStore::Stage(const ObjectHeader& header, Bytes claim) {
  const ObjectName name = cairn::NameOf(header);
  if (by_name_.contains(name) || staged_.contains(name)) return true;
  std::vector<ObjectName> gone;
  const size_t bytes = BytesFor(claim);
  if (!disk_->Write(header, bytes, &gone)) return false;
  staged_.emplace(name, std::move(claim));
  for (const ObjectName& other : gone) Forget(other);
  ListedObject found{header, 0};
  found.raw_bytes = found.stored_bytes = bytes;
  events_.found.push_back(std::move(found));
  return true;
}

size_t SizedStore::BytesFor(ByteSpan bytes) const {
  const size_t claimed = bytes.size() < kClaimBytes ? 0 : ClaimedBytes(bytes);
  return claimed + (bytes.size() % kClaimBytes == 0 ? 0 : logits_bytes_);
}

Status SizedStore::Put(SnapshotId id, Bytes bytes) {
  bytes_ += BytesFor(bytes);
  const bool added = held_.emplace(id, Held{std::move(bytes)}).second;
  CHECK(added);
  SetPlace(id, Place::kUnsaved);
  return {};
}

Result<ByteSpan> SizedStore::Get(SnapshotId id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return Fail(ErrorCode::kNotFound, "the snapshot is gone");
  const Held& held = found->second;
  if (!held.name.empty()) disk_->Touch(held.name);
  if (PlaceOf(id) == Place::kSavedOnly) {
    if (held.name.empty()) return Fail(ErrorCode::kNotFound, "the snapshot is gone");
    disk_->Read(held.name);
  }
  return ByteSpan(held.claim);
}

void SizedStore::Erase(SnapshotId id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  const Held& held = found->second;
  if (PlaceOf(id) != Place::kSavedOnly) bytes_ -= BytesFor(held.claim);
  if (!held.name.empty()) {
    disk_->Remove(held.name);
    by_name_.erase(held.name);
  }
  held_.erase(found);
  places_[id] = std::nullopt;
}

bool SizedStore::Save(SnapshotId id, const ObjectHeader& header) {
  Held& held = HeldOf(id);
  CHECK(PlaceOf(id) == Place::kUnsaved);
  if (!disk_->MayWrite(BytesFor(held.claim))) return false;
  SetPlace(id, Place::kRefused);
  const ObjectName name = cairn::NameOf(header);
  std::vector<ObjectName> gone;
  if (by_name_.contains(name) || staged_.contains(name) ||
      !disk_->Write(header, BytesFor(held.claim), &gone)) {
    return true;
  }
  SetPlace(id, Place::kBoth);
  held.name = name;
  by_name_.emplace(name, id);
  for (const ObjectName& other : gone) Forget(other);
  return true;
}

SnapshotStore::Place SizedStore::PlaceOf(SnapshotId id) const {
  CHECK(id < places_.size() && places_[id].has_value());
  return *places_[id];
}

void SizedStore::SetPlace(SnapshotId id, Place place) {
  if (places_.size() <= id) places_.resize(id + 1);
  places_[id] = place;
}

void SizedStore::Release(SnapshotId id) {
  CHECK(PlaceOf(id) == Place::kBoth);
  bytes_ -= BytesFor(HeldOf(id).claim);
  SetPlace(id, Place::kSavedOnly);
}

void SizedStore::StartRead(SnapshotId id) {
  const Held& held = HeldOf(id);
  if (held.name.empty()) {
    events_.unreadable.push_back(id);
    return;
  }
  disk_->Read(held.name);
  events_.arrived.push_back({id, BytesFor(held.claim)});
}

void SizedStore::KeepRead(SnapshotId id) {
  CHECK(PlaceOf(id) == Place::kSavedOnly);
  SetPlace(id, Place::kBoth);
  bytes_ += BytesFor(HeldOf(id).claim);
}

SnapshotStore::Events SizedStore::TakeEvents() {
  return std::exchange(events_, {});
}

void SizedStore::Adopt(SnapshotId id, const ObjectHeader& header) {
  const ObjectName name = cairn::NameOf(header);
  Held& held = held_[id];
  CHECK(held.name.empty() && !by_name_.contains(name));
  const bool in_memory = !held.claim.empty();
  SetPlace(id, in_memory ? Place::kBoth : Place::kSavedOnly);
  const auto staged = staged_.find(name);
  if (staged == staged_.end()) {
    // The disk evicted it before the cache took it in.
    if (in_memory) SetPlace(id, Place::kRefused);
    if (!in_memory) events_.lost.push_back(id);
    return;
  }
  if (!in_memory) held.claim = std::move(staged->second);
  held.name = name;
  by_name_.emplace(name, id);
  staged_.erase(staged);
}

std::optional<SnapshotId> SizedStore::Find(const ObjectName& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

ObjectName SizedStore::NameOf(SnapshotId id) const {
  const auto found = held_.find(id);
  return found == held_.end() ? ObjectName{} : found->second.name;
}

SizedStore::Held& SizedStore::HeldOf(SnapshotId id) {
  const auto found = held_.find(id);
  CHECK(found != held_.end());
  return found->second;
}

void SizedStore::Forget(const ObjectName& name) {
  if (staged_.erase(name) > 0) return;
  const SnapshotId id = by_name_.at(name);
  if (on_gone_) on_gone_(id);
  by_name_.erase(name);
  HeldOf(id).name = {};
  if (PlaceOf(id) == Place::kSavedOnly) {
    events_.lost.push_back(id);
  } else {
    SetPlace(id, Place::kRefused);
  }
}

}  // namespace cairn
