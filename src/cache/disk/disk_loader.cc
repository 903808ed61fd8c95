#include "cache/disk/disk_loader.h"

#include <algorithm>

namespace cairn {
namespace {

bool Contains(const std::vector<uint64_t>& ids, uint64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

DiskLoader::LoadId DiskLoader::Begin(const std::vector<uint64_t>& ids, Kind kind) {
  Load load;
  load.ids = ids;
  load.streams = kind == Kind::kStreams;
  for (const uint64_t id : ids) {
    ++PinsOf(table_, id);
    if (!table_->InMemory(id)) load.to_read.push_back(id);
  }
  loads_.emplace(++last_load_, std::move(load));
  ReadNext();
  return last_load_;
}

bool DiskLoader::IsLoading(LoadId load) const {
  const auto found = loads_.find(load);
  return found != loads_.end() && !found->second.streams && !found->second.to_read.empty();
}

bool DiskLoader::IsToRead(LoadId load, uint64_t id) const {
  const auto found = loads_.find(load);
  return found != loads_.end() && Contains(found->second.to_read, id);
}

void DiskLoader::Used(LoadId load, uint64_t id) {
  const auto found = loads_.find(load);
  if (found == loads_.end() || std::erase(found->second.ids, id) == 0) return;
  std::erase(found->second.to_read, id);
  found->second.is_full = false;
  Unpin(id);
  ReadNext();
}

void DiskLoader::Unpin(uint64_t id) {
  --PinsOf(table_, id);
  const bool wanted = std::any_of(loads_.begin(), loads_.end(),
                                  [id](const auto& load) { return Contains(load.second.ids, id); });
  if (!wanted) arrived_.erase(id);
}

void DiskLoader::End(LoadId load) {
  const auto found = loads_.find(load);
  if (found == loads_.end()) return;
  const std::vector<uint64_t> ids = std::move(found->second.ids);
  loads_.erase(found);
  for (const uint64_t id : ids) Unpin(id);
  ReadNext();
}

void DiskLoader::Forget(uint64_t id) {
  for (auto& [number, load] : loads_) {
    if (std::erase(load.ids, id) == 0) continue;
    std::erase(load.to_read, id);
    --PinsOf(table_, id);
  }
  arrived_.erase(id);
}

void DiskLoader::StopReading(uint64_t id) {
  for (auto& [number, load] : loads_) {
    if (Contains(load.to_read, id)) load.to_read.clear();
  }
}

bool DiskLoader::HasUnused(const Load& load) const {
  return std::any_of(load.ids.begin(), load.ids.end(),
                     [this](uint64_t id) { return arrived_.contains(id); });
}

void DiskLoader::OnNoRoom(uint64_t id) {
  for (auto& [number, load] : loads_) {
    if (!Contains(load.to_read, id)) continue;
    if (load.streams && HasUnused(load)) {
      load.is_full = true;
    } else {
      load.to_read.clear();
    }
  }
}

void DiskLoader::OnRead(const SnapshotStore::Events& events) {
  if (loads_.empty() && reading_.empty()) return;
  reads_ += events.unreadable.size() + events.arrived.size();
  for (const SnapshotId id : events.unreadable) {
    if (reading_.erase(id) == 0) continue;
    StopReading(id);
    Forget(id);
    table_->Lose(id);
  }
  for (const SnapshotStore::Arrived& object : events.arrived) {
    if (reading_.erase(object.id) == 0) continue;
    const bool wanted = std::any_of(loads_.begin(), loads_.end(), [&](const auto& load) {
      return Contains(load.second.to_read, object.id);
    });
    if (wanted && MayKeep(object.bytes) && evictor_->MakeRoom(object.bytes)) {
      table_->store().KeepRead(object.id);
      table_->changes().Note(object.id);
      arrived_.insert(object.id);
      for (auto& [number, load] : loads_) std::erase(load.to_read, object.id);
    } else {
      table_->store().Unload(object.id);
      OnNoRoom(object.id);
    }
  }
  ReadNext();
}

bool DiskLoader::MayKeep(size_t bytes) const {
  size_t arrived_bytes = bytes;
  for (const uint64_t id : arrived_) arrived_bytes += BytesOf(*table_, id);
  return arrived_bytes <= bytes_max();
}

bool DiskLoader::HasRoomSoon(LoadId number, const Load& load, uint64_t id) const {
  size_t bytes = BytesOf(*table_, id);
  for (const auto& [other, reading_bytes] : reading_) bytes += reading_bytes;
  if (MayKeep(bytes)) return true;
  return load.streams ? reading_.empty() && !HasUnused(load) : number == loads_.begin()->first;
}

bool DiskLoader::IsWorthAWait(uint64_t id) const {
  return !table_->store().saved_stats().takes_nothing() &&
         !evictor_->TakesAtOnce(BytesOf(*table_, id));
}

void DiskLoader::ReadNext() {
  for (auto& [number, load] : loads_) {
    if (load.is_full) continue;
    for (const uint64_t id : load.to_read) {
      if (reading_.size() >= kReadsAtOnce) return;
      if (reading_.contains(id)) continue;
      if (!HasRoomSoon(number, load, id)) break;
      // The objects that make room for it must be written first, and would else be lost.
      if (IsWorthAWait(id)) return;
      table_->store().StartRead(id);
      reading_.emplace(id, BytesOf(*table_, id));
    }
  }
}

}  // namespace cairn
