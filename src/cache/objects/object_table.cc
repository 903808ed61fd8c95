#include "cache/objects/object_table.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {

bool ObjectTable::InMemory(uint64_t id) const {
  return !store_->saves() || store_->PlaceOf(id) != SnapshotStore::Place::kSavedOnly;
}

bool ObjectTable::MayDrop(uint64_t id) const {
  if (!store_->saves()) return true;
  const SnapshotStore::Place place = store_->PlaceOf(id);
  return place == SnapshotStore::Place::kUnsaved || place == SnapshotStore::Place::kRefused;
}

void ObjectTable::Lose(uint64_t id) {
  if (const auto entry = entries_.find(id); entry != entries_.end()) {
    if (entry->second.pins > 0) return;  // its bytes were read before they vanished
    Drop(id);
  } else if (segments_.segments().contains(id)) {
    const std::vector<SegmentId> subtree = segments_.Subtree(id);
    const bool in_use = std::any_of(subtree.begin(), subtree.end(), [this](const SegmentId below) {
      return segments_.Get(below).pins > 0;
    });
    if (in_use) return;
    for (const SegmentId below : subtree) DropSegment(below);
  } else if (full_states_.Holds(id)) {
    if (full_states_.Get(id).pins > 0) return;
    DropFullState(id);
  } else {
    return;
  }
  ++stats_.lost;
}

void ObjectTable::SetHolder(CheckpointEntry* entry, SegmentId holder) {
  const CheckpointId id = entry->checkpoint.id;
  if (entry->holder != 0) std::erase(segments_.Get(entry->holder).checkpoints, id);
  entry->holder = holder;
  changes_.Note(id);
  if (holder != 0) segments_.Get(holder).checkpoints.push_back(id);
}

void ObjectTable::LinkCheckpoints(const SegmentIndex::Segment& segment, TokenSpan tokens) {
  changes_.Note(segment.id);
  const SegmentGap range = segment.range;
  const auto match = tree_.Match(segment.name_space, tokens.first(range.end));
  for (const PrefixTree::Hit& hit : match.hits) {
    CheckpointEntry& entry = EntryOf(hit.value);
    if (hit.position > range.begin && entry.checkpoint.lineage == range.lineage) {
      SetHolder(&entry, segment.id);
    }
  }
}

void ObjectTable::NotePrompt(CheckpointEntry* entry) const {
  if (entry->checkpoint.turns > 0) {
    entry->prompt_tokens = entry->checkpoint.position;
    entry->prompt_turns = entry->checkpoint.turns;
  } else if (const PrefixTree::Node* above = PrefixTree::AncestorOf(entry->node)) {
    const CheckpointEntry& ancestor = EntryOf(PrefixTree::ValueOf(above));
    entry->prompt_tokens = ancestor.prompt_tokens;
    entry->prompt_turns = ancestor.prompt_turns;
  }
}

CheckpointEntry* ObjectTable::FindEntry(CheckpointId id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

const CheckpointEntry& ObjectTable::EntryOf(CheckpointId id) const {
  const auto found = entries_.find(id);
  CHECK(found != entries_.end());
  return found->second;
}

CheckpointEntry& ObjectTable::EntryOf(CheckpointId id) {
  return const_cast<CheckpointEntry&>(std::as_const(*this).EntryOf(id));
}

SlotParts PartsInSlots(const ObjectTable& table) {
  if (!table.slots().held) return {};
  std::vector<SlotParts::Part> parts;
  std::vector<uint64_t> leaving;
  for (const SlotsView::Held& held : table.slots().held()) {
    for (const PrefixTree::Hit& hit : table.tree().Match(held.name_space, held.tokens).hits) {
      parts.push_back({hit.value, hit.position});
    }
    for (const SegmentIndex::Link& link :
         table.segments().PathAlong(held.name_space, held.tokens)) {
      // The copies of what is leaving are about to be the only ones.
      if (held.leaving) {
        leaving.push_back(link.id);
      } else {
        parts.push_back({link.id, link.end});
      }
    }
  }
  return {std::move(parts), std::move(leaving)};
}

int& PinsOf(ObjectTable* table, uint64_t id) {
  if (CheckpointEntry* const entry = table->FindEntry(id)) return entry->pins;
  if (table->segments().segments().contains(id)) return table->segments().Get(id).pins;
  CHECK(table->full_states().Holds(id));
  return table->full_states().Get(id).pins;
}

size_t BytesOf(const ObjectTable& table, uint64_t id) {
  if (const auto entry = table.entries().find(id); entry != table.entries().end())
    return entry->second.checkpoint.bytes;
  if (table.segments().segments().contains(id)) return table.segments().Get(id).bytes;
  return table.full_states().full_states().at(id).bytes;
}

void ObjectTable::SetNow(double now_ms) {
  CHECK(now_ms >= now_ms_);
  now_ms_ = now_ms;
}

void ObjectTable::AddEntry(CheckpointEntry entry, TokenSpan tokens) {
  const Checkpoint& checkpoint = entry.checkpoint;
  entry.created_tick = entry.used_tick = NextTick();
  NotePrompt(&entry);
  entry.role = checkpoint.checkpoint_class;
  SetHolder(&entry, segments_.HolderOf(entry.name_space, tokens, checkpoint.lineage));
  if (IsKept(entry)) marked_.insert(checkpoint.id);
  entries_.emplace(checkpoint.id, entry);
}

void ObjectTable::Drop(CheckpointId id) {
  CheckpointEntry& entry = EntryOf(id);
  CHECK(entry.pins == 0);
  SetHolder(&entry, 0);
  tree_.Erase(entry.node);
  store_->Erase(id);
  marked_.erase(id);
  entries_.erase(id);
}

void ObjectTable::DropSegment(SegmentId id) {
  const std::vector<CheckpointId> held = segments_.Get(id).checkpoints;
  for (const CheckpointId checkpoint_id : held) {
    CheckpointEntry& entry = EntryOf(checkpoint_id);
    SetHolder(&entry, 0);
    // Where a model needs no snapshots, a checkpoint off the grid consists of its segments only.
    if (entry.checkpoint.bytes == 0 && entry.pins == 0) Drop(checkpoint_id);
  }
  segments_.Remove(id);
  store_->Erase(id);
  changes_.Note(id);
}

void ObjectTable::DropFullState(FullStateId id) {
  full_states_.Remove(id);
  store_->Erase(id);
  changes_.Note(id);
}

// Tokens shared by several checkpoints count for each, so that kept checkpoints leave room.
size_t KeptBytes(const CheckpointEntry& entry) {
  return entry.checkpoint.bytes + PrefixTree::BytesOf(entry.checkpoint.position);
}

void ObjectTable::CheckInvariants() const {
  size_t bytes = 0;
  size_t held = 0;
  tree_.CheckInvariants();
  CHECK(tree_.value_count() == entries_.size());
  for (const auto& [id, entry] : entries_) CHECK(!IsKept(entry) || marked_.contains(id));
  for (const CheckpointId id : marked_) CHECK(entries_.contains(id));
  for (const auto& [id, entry] : entries_) {
    CHECK(PrefixTree::ValueOf(entry.node) == id);
    CHECK(PrefixTree::PositionOf(entry.node) == entry.checkpoint.position);
    if (InMemory(id)) bytes += entry.checkpoint.bytes;
    held += entry.holder != 0 ? 1 : 0;
  }
  segments_.CheckInvariants();
  for (const auto& [id, segment] : segments_.segments()) {
    if (InMemory(id)) bytes += segment.bytes;
    held -= segment.checkpoints.size();
    for (const CheckpointId checkpoint_id : segment.checkpoints) {
      const CheckpointEntry& entry = EntryOf(checkpoint_id);
      CHECK(entry.holder == id);
      CHECK(entry.checkpoint.position > segment.range.begin);
      CHECK(entry.checkpoint.position <= segment.range.end);
    }
  }
  CHECK(held == 0);
  for (const auto& [id, whole] : full_states_.full_states())
    bytes += InMemory(id) ? whole.bytes : 0;
  CHECK(bytes == store_->bytes());
}

}  // namespace cairn
