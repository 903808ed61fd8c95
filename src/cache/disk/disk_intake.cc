#include "cache/disk/disk_intake.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace cairn {
namespace {

// Limits of the objects that wait for their parent, for room or for a name, in objects and in bytes
// of their tokens.
constexpr size_t kWaitingMax = 10000;
constexpr size_t kWaitingBytesMax = size_t{64} << 20;

}  // namespace

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
