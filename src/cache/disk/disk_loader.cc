#include "cache/disk/disk_loader.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace cairn {
namespace {

bool Contains(const std::vector<uint64_t>& ids, uint64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Limits of the objects that wait for their parent, for room or for a name, in objects and in bytes
// of their tokens.
constexpr size_t kWaitingMax = 10000;
constexpr size_t kWaitingBytesMax = size_t{64} << 20;

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

void DiskIntake::TakeEvents() {
  if (!table_->store().saves()) return;
  SnapshotStore::Events events = table_->store().TakeEvents();
  for (const SnapshotId id : events.lost) table_->Lose(id);
  loader_->OnRead(events);
  if (events.found.empty() && !std::exchange(offers_again_, false)) return;
  std::move(events.found.begin(), events.found.end(), std::back_inserter(waiting_));
  // A segment may have been found before its parent.
  bool more = true;
  while (more) {
    more = false;
    std::erase_if(waiting_, [&](const ListedObject& object) {
      const TakenIn taken = TakeIn(object);
      more = more || taken == TakenIn::kDone;
      return taken == TakenIn::kDone || taken == TakenIn::kUseless;
    });
  }
  KeepFewWaiting();
}

// Keeps the newest ones.
void DiskIntake::KeepFewWaiting() {
  size_t bytes = 0;
  size_t kept = 0;
  while (kept < std::min(waiting_.size(), kWaitingMax)) {
    bytes += waiting_[waiting_.size() - 1 - kept].tokens.size() * sizeof(Token);
    if (bytes > kWaitingBytesMax) break;
    ++kept;
  }
  waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(kept));
}

DiskIntake::TakenIn DiskIntake::TakeIn(const ListedObject& header) {
  const auto name_space = table_->saved_as().NameSpaceNamed(header.name_space);
  if (header.tokens.empty()) return TakenIn::kUseless;
  // Rows are read by their name when they are needed (sched/media/saved_media.h).
  if (header.kind == ObjectKind::kMediaRows) return TakenIn::kUseless;
  if (header.fingerprint != table_->saved_as().fingerprint) return TakenIn::kUseless;
  if (!name_space) {
    return table_->saved_as().awaits_names ? TakenIn::kNameUnknown : TakenIn::kUseless;
  }
  // The folder may have reported it twice: found, gone, and found again.
  if (table_->store().Find(cairn::NameOf(header))) return TakenIn::kUseless;
  // The tokens it is found by count too. Objects that are saved leave memory for them; unsaved ones
  // do not.
  const size_t token_bytes = PrefixTree::BytesOf(header.tokens.size());
  if (token_bytes > evictor_->budget_bytes()) return TakenIn::kUseless;
  while (table_->HeldBytes() + token_bytes > evictor_->budget_bytes()) {
    if (!evictor_->ReleaseSome({}, token_bytes)) return TakenIn::kNoRoom;
  }
  TakenIn taken = TakenIn::kUseless;
  switch (header.kind) {
    case ObjectKind::kSnapshot:
      taken = TakeInSnapshot(*name_space, header);
      break;
    case ObjectKind::kSegment:
      taken = TakeInSegment(*name_space, header);
      break;
    case ObjectKind::kFullState:
      taken = TakeInFullState(*name_space, header);
      break;
    case ObjectKind::kMediaRows:
      break;
  }
  if (taken == TakenIn::kDone) ++table_->stats().taken_in;
  return taken;
}

DiskIntake::TakenIn DiskIntake::SavedByOthers(uint64_t id, const ObjectHeader& header) {
  if (IsUnsaved(*table_, id)) table_->store().Adopt(id, header);
  return TakenIn::kUseless;
}

DiskIntake::TakenIn DiskIntake::TakeInSnapshot(NamespaceId name_space, const ListedObject& header) {
  const auto checkpoint_class = ParseCheckpointClass(header.checkpoint_class);
  if (!checkpoint_class || header.logits_bytes > header.raw_bytes) return TakenIn::kUseless;
  if (const PrefixTree::Node* node = table_->tree().Find(name_space, header.tokens)) {
    const Checkpoint& held = table_->EntryOf(PrefixTree::ValueOf(node)).checkpoint;
    const bool same = held.lineage == header.lineage && held.logits_bytes == header.logits_bytes;
    return same ? SavedByOthers(held.id, header) : TakenIn::kUseless;
  }
  CheckpointEntry entry;
  Checkpoint& checkpoint = entry.checkpoint;
  checkpoint.id = table_->NextId();
  checkpoint.position = header.tokens.size();
  checkpoint.checkpoint_class = *checkpoint_class;
  checkpoint.bytes = header.raw_bytes;
  checkpoint.lineage = header.lineage;
  checkpoint.logits_bytes = header.logits_bytes;
  checkpoint.cold_end = header.cold_end;
  checkpoint.turns = header.turns;
  entry.name_space = name_space;
  entry.used_before_ns = header.used_ns;
  entry.node = table_->tree().Put(name_space, header.tokens, checkpoint.id);
  table_->store().Adopt(checkpoint.id, header);
  table_->AddEntry(entry, header.tokens);
  return TakenIn::kDone;
}

DiskIntake::TakenIn DiskIntake::TakeInSegment(NamespaceId name_space, const ListedObject& header) {
  const TokenSpan tokens = header.tokens;
  const SegmentGap range = {header.begin, tokens.size(), header.lineage};
  if (range.begin >= range.end) return TakenIn::kUseless;
  if (range.lineage == 0) {
    const SegmentId held = table_->segments().EndsAt(name_space, tokens);
    if (held != 0) {
      const bool same = table_->segments().Get(held).range == range;
      return same ? SavedByOthers(held, header) : TakenIn::kUseless;
    }
  } else if (const size_t end = table_->segments().RunEnd(range.lineage);
             end != 0 && end != range.begin) {
    const SegmentId held = table_->segments().HolderOf(name_space, tokens, range.lineage);
    const bool same = held != 0 && table_->segments().Get(held).range == range;
    return same ? SavedByOthers(held, header) : TakenIn::kUseless;
  }
  SegmentIndex::Segment segment;
  if (range.begin > 0) {
    const auto named = table_->store().Find(header.parent);
    if (!named || !table_->segments().segments().contains(*named)) return TakenIn::kParentMissing;
    // The parent is found by its name, but only the tokens decide.
    const LineageId lineage = table_->segments().Get(*named).range.lineage;
    segment.parent = table_->segments().HolderOf(name_space, tokens.first(range.begin), lineage);
    if (segment.parent == 0) return TakenIn::kUseless;
  }
  segment.id = table_->NextId();
  segment.name_space = name_space;
  segment.range = range;
  segment.bytes = header.raw_bytes;
  segment.created_tick = segment.used_tick = table_->NextTick();
  segment.used_before_ns = header.used_ns;
  const SegmentId id = segment.id;
  Provenance provenance;
  provenance.answers = header.answers;
  table_->segments().Add(std::move(segment), tokens, provenance);
  table_->store().Adopt(id, header);
  table_->LinkCheckpoints(table_->segments().Get(id), tokens);
  return TakenIn::kDone;
}

DiskIntake::TakenIn DiskIntake::TakeInFullState(NamespaceId name_space,
                                                const ListedObject& header) {
  FullState whole;
  whole.id = table_->NextId();
  whole.name_space = name_space;
  whole.tokens = header.tokens;
  whole.provenance = {header.clean, header.runs, header.answers};
  whole.bytes = header.raw_bytes;
  whole.created_tick = whole.used_tick = table_->NextTick();
  whole.used_before_ns = header.used_ns;
  table_->store().Adopt(whole.id, header);
  table_->changes().Note(whole.id);
  table_->full_states().Add(std::move(whole));
  return TakenIn::kDone;
}

}  // namespace cairn
