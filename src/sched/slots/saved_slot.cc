#include "sched/slots/saved_slot.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace cairn {
namespace {

tl::unexpected<Error> Corrupt(std::string why) {
  return Fail(ErrorCode::kCorrupt, std::move(why));
}

bool BeginsWith(TokenSpan tokens, TokenSpan prefix) {
  return tokens.size() >= prefix.size() && CommonPrefix(tokens, prefix) == prefix.size();
}

// Returns the deepest object of a kind; the last of several equally deep ones; nullptr if there is
// none.
LoadedObject* DeepestOf(ObjectKind kind, std::vector<LoadedObject>* objects) {
  LoadedObject* deepest = nullptr;
  for (LoadedObject& object : *objects) {
    if (object.header.kind != kind) continue;
    const bool deeper =
        deepest == nullptr || object.header.tokens.size() >= deepest->header.tokens.size();
    if (deeper) deepest = &object;
  }
  return deepest;
}

// Whether `child` may begin in `parent`.
bool Continues(const ObjectHeader& child, const ObjectHeader& parent) {
  const bool meets = parent.begin < child.begin && child.begin <= parent.tokens.size();
  // A run never returns to the grid.
  const bool may = parent.lineage == 0 || child.lineage != 0;
  return meets && may && BeginsWith(child.tokens, TokenSpan(parent.tokens).first(child.begin));
}

// Returns the segments from 0 to the end of `last`, shallowest first.
Result<std::vector<LoadedObject*>> PathTo(LoadedObject* last, std::vector<LoadedObject>* objects) {
  std::map<ObjectName, LoadedObject*> segments;
  for (LoadedObject& object : *objects) {
    if (object.header.kind == ObjectKind::kSegment) segments[NameOf(object.header)] = &object;
  }
  std::vector<LoadedObject*> path;
  // Each segment begins before the one that begins in it, so the loop ends.
  for (LoadedObject* segment = last;;) {
    const ObjectHeader& header = segment->header;
    if (header.begin >= header.tokens.size()) return Corrupt("a segment in it is empty");
    path.push_back(segment);
    if (header.parent.empty()) break;
    const auto parent = segments.find(header.parent);
    if (parent == segments.end() || !Continues(header, parent->second->header)) {
      return Corrupt("the attention KV of the tokens before " + std::to_string(header.begin) +
                     " is not in it");
    }
    segment = parent->second;
  }
  if (path.back()->header.begin != 0) return Corrupt("its first segment does not begin at 0");
  std::reverse(path.begin(), path.end());
  return path;
}

Status TakeSegments(LoadedObject* last, std::vector<LoadedObject>* objects, SavedSlot* saved) {
  auto path = PathTo(last, objects);
  if (!path) return tl::unexpected(path.error());
  saved->tokens = last->header.tokens;
  for (size_t i = 0; i < path->size(); ++i) {
    LoadedObject& segment = *(*path)[i];
    const ObjectHeader& header = segment.header;
    // Only the front of a segment, up to where the next one begins, is on the path.
    const size_t end = i + 1 < path->size() ? (*path)[i + 1]->header.begin : saved->tokens.size();
    saved->provenance.Append({header.begin, end}, header.lineage, header.answers);
    saved->parts.push_back({header.begin, end, std::move(segment.payload)});
  }
  return {};
}

// The provenance that a purely recurrent model's snapshot implies.
Provenance ProvenanceOf(const ObjectHeader& snapshot) {
  Provenance provenance;
  if (snapshot.lineage == 0) {
    provenance.clean = snapshot.tokens.size();
  } else {
    provenance.runs = {{snapshot.lineage, 0}};
  }
  return provenance;
}

// Whether a snapshot holds this slot's own bits, so that the slot can be restored to it.
bool IsOfSlot(const ObjectHeader& header, const SavedSlot& saved, bool recurrent) {
  if (!BeginsWith(saved.tokens, header.tokens)) return false;
  const LineageId own = saved.provenance.LineageAt(header.tokens.size());
  // Where a snapshot is the complete state, one on the grid fits every slot.
  return header.lineage == own || (recurrent && header.lineage == 0);
}

Checkpoint CheckpointOf(const ObjectHeader& header, CheckpointClass checkpoint_class) {
  Checkpoint checkpoint;
  checkpoint.position = header.tokens.size();
  checkpoint.checkpoint_class = checkpoint_class;
  checkpoint.lineage = header.lineage;
  checkpoint.logits_bytes = header.logits_bytes;
  checkpoint.cold_end = header.cold_end;
  checkpoint.turns = header.turns;
  return checkpoint;
}

Status TakeSnapshots(bool recurrent, std::vector<LoadedObject>* objects, SavedSlot* saved) {
  for (LoadedObject& object : *objects) {
    const ObjectHeader& header = object.header;
    if (header.kind != ObjectKind::kSnapshot || header.tokens.empty()) continue;
    if (!IsOfSlot(header, *saved, recurrent)) continue;
    const auto checkpoint_class = ParseCheckpointClass(header.checkpoint_class);
    if (!checkpoint_class) return Corrupt("a checkpoint in it has an unknown class");
    saved->checkpoints.push_back(
        {CheckpointOf(header, *checkpoint_class), std::move(object.payload)});
  }
  // At one position, the object without logits comes last: it is the state of the slot's end,
  // if it is at the end.
  std::stable_sort(saved->checkpoints.begin(), saved->checkpoints.end(),
                   [](const auto& a, const auto& b) {
                     const auto rank = [](const Checkpoint& what) {
                       return std::pair(what.position, what.logits_bytes == 0);
                     };
                     return rank(a.what) < rank(b.what);
                   });
  return {};
}

void CutTo(size_t position, SavedSlot* saved) {
  saved->tokens.resize(position);
  saved->provenance.CutTo(position);
  std::erase_if(saved->parts, [&](const SavedSlot::Part& part) { return part.begin >= position; });
  if (!saved->parts.empty()) saved->parts.back().end = position;
}

// Sets the slot's end to the deepest snapshot, beyond which the slot cannot be restored.
Status TakeEnd(SavedSlot* saved) {
  if (saved->checkpoints.empty()) return Corrupt("it holds no state to resume from");
  SavedSlot::SavedCheckpoint& last = saved->checkpoints.back();
  CutTo(last.what.position, saved);
  if (last.what.logits_bytes == 0) {
    saved->end_state = std::move(last.bytes);
    // The slot has it then; the cache gets it when the slot is offloaded.
    saved->checkpoints.pop_back();
  } else {
    const size_t bytes = last.bytes.size() - last.what.logits_bytes;
    saved->end_state.assign(last.bytes.begin(),
                            last.bytes.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  return {};
}

}  // namespace

ObjectHeader HeaderOf(const SlotContent& content, const SlotPart& part, const ObjectName& parent) {
  ObjectHeader header;
  const auto set_tokens = [&](size_t end) {
    const TokenSpan tokens = TokenSpan(content.tokens).first(end);
    header.tokens.assign(tokens.begin(), tokens.end());
  };
  switch (part.kind) {
    case SlotPart::Kind::kSegment:
      header.kind = ObjectKind::kSegment;
      set_tokens(part.range.end);
      header.begin = part.range.begin;
      header.lineage = part.range.lineage;
      header.parent = parent;
      header.answers = content.provenance.AnswersIn({part.range.begin, part.range.end});
      break;
    case SlotPart::Kind::kFullState:
      header.kind = ObjectKind::kFullState;
      header.tokens = content.tokens;
      header.clean = content.provenance.clean;
      header.runs = content.provenance.runs;
      header.answers = content.provenance.answers;
      header.lineage = content.provenance.LineageAt(content.tokens.size());
      break;
    case SlotPart::Kind::kCheckpoint:
    case SlotPart::Kind::kEnd:
      header.kind = ObjectKind::kSnapshot;
      set_tokens(part.checkpoint.position);
      header.lineage = part.checkpoint.lineage;
      header.checkpoint_class = static_cast<uint8_t>(part.checkpoint.checkpoint_class);
      header.cold_end = part.checkpoint.cold_end;
      header.logits_bytes = part.checkpoint.logits_bytes;
      header.turns = part.checkpoint.turns;
      break;
  }
  return header;
}

Result<SavedSlot> ToSavedSlot(std::vector<LoadedObject> objects, bool needs_snapshots) {
  SavedSlot saved;
  bool recurrent = false;
  if (LoadedObject* const whole = DeepestOf(ObjectKind::kFullState, &objects)) {
    saved.tokens = whole->header.tokens;
    saved.provenance = {whole->header.clean, whole->header.runs, whole->header.answers};
    saved.whole = std::move(whole->payload);
  } else if (LoadedObject* const segment = DeepestOf(ObjectKind::kSegment, &objects)) {
    if (Status taken = TakeSegments(segment, &objects, &saved); !taken) {
      return tl::unexpected(taken.error());
    }
  } else if (LoadedObject* const snapshot = DeepestOf(ObjectKind::kSnapshot, &objects)) {
    recurrent = true;
    saved.tokens = snapshot->header.tokens;
    saved.provenance = ProvenanceOf(snapshot->header);
  }
  if (saved.tokens.empty()) return Corrupt("it holds no conversation");
  if (Status taken = TakeSnapshots(recurrent, &objects, &saved); !taken) {
    return tl::unexpected(taken.error());
  }
  if (saved.whole || (!needs_snapshots && !recurrent)) return saved;
  if (Status taken = TakeEnd(&saved); !taken) return tl::unexpected(taken.error());
  return saved;
}

}  // namespace cairn
