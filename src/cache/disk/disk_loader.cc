#include "cache/disk/disk_loader.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {
namespace {

// Objects that are being read at a time. What is read and not taken in yet is not in the budget, so
// there are few: one that arrives, and one that the thread goes on with meanwhile.
constexpr size_t kReadingMax = 2;

}  // namespace

int* DiskLoader::PinsOf(uint64_t id) {
  if (CheckpointEntry* const entry = table_->FindEntry(id)) return &entry->pins;
  if (table_->segments().segments().contains(id)) return &table_->segments().Get(id).pins;
  CHECK(table_->full_states().Holds(id));
  return &table_->full_states().Get(id).pins;
}

DiskLoader::LoadId DiskLoader::Begin(const std::vector<uint64_t>& ids) {
  Load load;
  load.ids = ids;
  for (const uint64_t id : ids) {
    ++*PinsOf(id);
    if (!table_->InMemory(id)) load.to_read.push_back(id);
  }
  loads_.emplace(++last_load_, std::move(load));
  ReadNext();
  return last_load_;
}

bool DiskLoader::IsLoading(LoadId load) const {
  const auto found = loads_.find(load);
  return found != loads_.end() && !found->second.to_read.empty();
}

void DiskLoader::End(LoadId load) {
  const auto found = loads_.find(load);
  if (found == loads_.end()) return;
  const std::vector<uint64_t> ids = std::move(found->second.ids);
  loads_.erase(found);
  for (const uint64_t id : ids) {
    --*PinsOf(id);
    const bool wanted = std::any_of(loads_.begin(), loads_.end(), [id](const auto& other) {
      return std::find(other.second.ids.begin(), other.second.ids.end(), id) !=
             other.second.ids.end();
    });
    if (!wanted) arrived_.erase(id);
  }
}

void DiskLoader::Forget(uint64_t id) {
  for (auto& [number, load] : loads_) {
    if (std::erase(load.ids, id) == 0) continue;
    std::erase(load.to_read, id);
    --*PinsOf(id);
  }
  arrived_.erase(id);
}

void DiskLoader::StopReading(uint64_t id) {
  for (auto& [number, load] : loads_) {
    if (std::find(load.to_read.begin(), load.to_read.end(), id) != load.to_read.end()) {
      load.to_read.clear();
    }
  }
}

void DiskLoader::OnRead(const SnapshotStore::Events& events) {
  if (reading_.empty()) return;
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
      const std::vector<uint64_t>& left = load.second.to_read;
      return std::find(left.begin(), left.end(), object.id) != left.end();
    });
    if (wanted && evictor_->MakeRoom(object.bytes)) {
      table_->store().KeepRead(object.id);
      arrived_.insert(object.id);
      for (auto& [number, load] : loads_) std::erase(load.to_read, object.id);
    } else {
      table_->store().Unload(object.id);
      StopReading(object.id);
    }
  }
  ReadNext();
}

void DiskLoader::ReadNext() {
  for (auto& [number, load] : loads_) {
    for (const uint64_t id : load.to_read) {
      if (reading_.size() >= kReadingMax) return;
      if (reading_.contains(id)) continue;
      table_->store().StartRead(id);
      reading_.insert(id);
    }
  }
}

}  // namespace cairn
