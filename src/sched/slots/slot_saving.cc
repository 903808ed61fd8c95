// Slots that a client saves to a file and restores from one: what is taken of a slot, and set back.

#include <algorithm>
#include <string>
#include <utility>

#include "base/allocate.h"
#include "base/check.h"
#include "sched/slots/slot_keeper.h"

namespace cairn {
namespace {

// As much is taken at once as the cache takes at once: other slots wait for no longer.
constexpr size_t kSegmentTokensMax = 8192;

}  // namespace

Status SlotKeeper::CheckFree(size_t slot) const {
  if (slot >= slots_.size()) {
    return Fail(ErrorCode::kInvalidArgument, "there is no slot " + std::to_string(slot) +
                                                 "; slots are numbered from 0 to " +
                                                 std::to_string(slots_.size() - 1));
  }
  if (slots_[slot].free) return {};
  const char* const what = slots_[slot].saving ? "being saved" : "answering a request";
  return Fail(ErrorCode::kUnavailable,
              "slot " + std::to_string(slot) + " is " + what + "; try again when it is done");
}

Result<SlotContent> SlotKeeper::BeginSaving(size_t slot, NamespaceId name_space) {
  if (Status usable = CheckFree(slot); !usable) return tl::unexpected(usable.error());
  Kept& kept = slots_[slot];
  const std::string name = "slot " + std::to_string(slot);
  if (kept.slot.own_tokens() == 0) {
    return Fail(ErrorCode::kInvalidArgument, name + " holds nothing that could be saved");
  }
  if (kept.slot.name_space() != name_space) {
    return Fail(ErrorCode::kInvalidArgument,
                name + " holds a conversation of another API key; only that one can save it");
  }
  const MemoryTraits& traits = engine_->traits();
  if (traits.kv_bytes_per_token > 0 && !traits.segments && !traits.whole_states) {
    return Fail(ErrorCode::kUnsupported, "this model's states cannot be taken out of a slot");
  }
  if (!traits.segments && !kept.slot.is_own()) {
    return Fail(ErrorCode::kUnsupported, name + " holds what was moved; that cannot be saved");
  }
  kept.free = false;
  kept.saving = true;
  return ContentOf(kept.slot);
}

SlotContent SlotKeeper::ContentOf(const Slot& slot) const {
  using Kind = SlotPart::Kind;
  const MemoryTraits& traits = engine_->traits();
  SlotContent content{slot.name_space(), slot.tokens(), slot.own_provenance(), {}};
  content.tokens.resize(slot.own_tokens());
  const bool has_kv = traits.kv_bytes_per_token > 0;
  const bool whole = has_kv && !traits.segments;
  if (whole) {
    content.pieces.push_back({Kind::kWhole});
  } else if (has_kv) {
    // The slot has all of it, in whatever pieces the cache may have some of it.
    const auto ranges = SegmentIndex().Gaps(0, content.tokens, content.provenance);
    for (const SegmentGap& range : CutInto(ranges, kSegmentTokensMax)) {
      content.pieces.push_back({Kind::kSegment, range});
    }
  }
  const size_t end = content.tokens.size();
  for (const Checkpoint& held : cache_->Match(content.name_space, content.tokens).checkpoints) {
    const bool own = held.lineage == content.provenance.LineageAt(held.position);
    const bool leads_back = own || (!has_kv && held.on_grid());
    const bool is_end = !whole && held.position == end && held.logits_bytes == 0;
    if (leads_back && !is_end) content.pieces.push_back({Kind::kCheckpoint, {}, held});
  }
  Checkpoint last;
  last.position = end;
  last.checkpoint_class = CheckpointClass::kReply;
  last.lineage = content.provenance.LineageAt(end);
  // On the grid, segments lead back without one.
  const bool needed = traits.NeedsSnapshots() || !last.on_grid();
  if (!whole && needed) content.pieces.push_back({Kind::kEnd, {}, last});
  return content;
}

Result<Bytes> SlotKeeper::TakePiece(size_t slot_index, const SlotPart& piece) {
  CHECK(slots_[slot_index].saving);
  Slot& slot = slots_[slot_index].slot;
  switch (piece.kind) {
    case SlotPart::Kind::kSegment:
      return slot.TakeSegment(piece.range);
    case SlotPart::Kind::kWhole:
      return slot.TakeWhole();
    case SlotPart::Kind::kCheckpoint: {
      const auto held = cache_->Pin(piece.checkpoint.id);
      if (!held) return Fail(ErrorCode::kNotFound, held.error().message);
      Bytes bytes;
      const Status room = TryResize(&bytes, held->size());
      if (room) std::copy(held->begin(), held->end(), bytes.begin());
      cache_->Unpin(piece.checkpoint.id);
      if (!room) return tl::unexpected(room.error());
      return bytes;
    }
    case SlotPart::Kind::kEnd:
      if (engine_->traits().NeedsSnapshots()) return slot.TakeSnapshot();
      return Bytes();
  }
  return Bytes();
}

void SlotKeeper::EndSaving(size_t slot) {
  Kept& kept = slots_[slot];
  CHECK(kept.saving);
  kept.saving = false;
  kept.free = true;
}

void SlotKeeper::EndAllSaving() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].saving) EndSaving(i);
  }
}

bool SlotKeeper::saving() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Kept& kept) { return kept.saving; });
}

Status SlotKeeper::CheckFits(const SavedSlot& saved) const {
  const MemoryTraits& traits = engine_->traits();
  const std::string tokens = std::to_string(saved.tokens.size());
  if (saved.tokens.size() > engine_->context_tokens()) {
    return Fail(ErrorCode::kTooLong, "the conversation has " + tokens +
                                         " tokens, and a slot holds at most " +
                                         std::to_string(engine_->context_tokens()) +
                                         "; start the server with a larger --ctx-size");
  }
  const bool has_kv = traits.kv_bytes_per_token > 0;
  const bool fits = saved.whole           ? has_kv && !traits.segments && traits.whole_states
                    : saved.parts.empty() ? !has_kv
                                          : traits.segments;
  if (fits) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "its states are not in the form that this server keeps; start it with the same "
              "--parallel and --reuse as the one that saved them");
}

Status SlotKeeper::Restore(size_t slot_index, SavedSlot saved) {
  if (Status usable = CheckFree(slot_index); !usable) return usable;
  if (Status fits = CheckFits(saved); !fits) return fits;
  Kept& kept = slots_[slot_index];
  Slot& slot = kept.slot;
  while (ledger_.used() - ledger_.OnlyIn(slot_index) + saved.tokens.size() > engine_->cells()) {
    const auto idle = LongestUnused(slot_index, slot_index);
    if (!idle) {
      return Fail(ErrorCode::kUnavailable,
                  "requests at work hold the context, and leave no room for " +
                      std::to_string(saved.tokens.size()) +
                      " tokens; try again when they are done");
    }
    OffloadAndClear(*idle);
  }
  if (LostTokens(slot, saved.name_space, saved.tokens, false) > 0) Offload(&slot);
  slot.Clear(saved.name_space);
  kept.used_tick = ++tick_;
  kept.released_ms = clock_->NowMs();
  kept.chunks_left.reset();
  if (Status set = SetSaved(&slot, saved); !set) {
    ++stats_.failed;
    slot.Clear(saved.name_space);
    return Fail(ErrorCode::kInvalidArgument, "its states were refused: " + set.error().message);
  }
  KeepCheckpoints(std::move(saved));
  return {};
}

Status SlotKeeper::SetSaved(Slot* slot, const SavedSlot& saved) {
  if (saved.whole) {
    WholeState whole;
    whole.name_space = saved.name_space;
    whole.tokens = saved.tokens;
    whole.provenance = saved.provenance;
    return slot->SetWhole(whole, *saved.whole);
  }
  if (saved.parts.empty()) {
    Checkpoint end;
    end.position = saved.tokens.size();
    end.lineage = saved.provenance.LineageAt(end.position);
    return slot->Restore(saved.tokens, end, saved.end_state);
  }
  std::vector<SegmentPart> parts;
  for (const SavedSlot::Part& part : saved.parts) {
    parts.push_back({part.begin, part.end, part.bytes});
  }
  return slot->Join(saved.tokens, 0, saved.provenance, parts, saved.end_state);
}

// Where the budget holds fewer, the later ones stay, or those that eviction thinks more of.
void SlotKeeper::KeepCheckpoints(SavedSlot saved) {
  const auto match = cache_->Match(saved.name_space, saved.tokens);
  for (SavedSlot::SavedCheckpoint& checkpoint : saved.checkpoints) {
    const Checkpoint& what = checkpoint.what;
    const bool held = std::any_of(
        match.checkpoints.begin(), match.checkpoints.end(), [&](const Checkpoint& other) {
          return other.position == what.position && other.lineage == what.lineage &&
                 other.logits_bytes == what.logits_bytes;
        });
    if (held) continue;
    const TokenSpan prefix = TokenSpan(saved.tokens).first(what.position);
    static_cast<void>(cache_->Insert(saved.name_space, prefix, what, std::move(checkpoint.bytes)));
  }
}

}  // namespace cairn
