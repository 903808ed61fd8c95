#include "sched/slots/slot_archive.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/kept_window.h"
#include "sched/request/adapter_name_space.h"
#include "sched/slots/slot_choice.h"

namespace cairn {
namespace {

// The largest segment taken at once, as in the cache: it bounds how long other slots wait.
constexpr size_t kSegmentTokensMax = 8192;

// Whether a slot of so many tokens would go on from a file as exactly as the mode asks for.
Status CheckExact(const SlotPool& pool, size_t tokens) {
  if (pool.options().mode != ReuseMode::kExact) return {};
  const MemoryTraits& traits = pool.engine().traits();
  if (HoldsAllRows(traits, tokens)) return {};
  return Fail(ErrorCode::kUnsupported,
              "with --swa-full a file holds the sliding window's last " +
                  std::to_string(traits.window_tokens) + " tokens alone, and a conversation of " +
                  std::to_string(tokens) +
                  " tokens would go on from it with other bits, which --reuse exact rules out; "
                  "leave out --swa-full, or start the server with --reuse live");
}

}  // namespace

Status SlotArchive::CheckFree(size_t slot) const {
  if (slot >= pool_->size()) {
    return Fail(ErrorCode::kInvalidArgument, "there is no slot " + std::to_string(slot) +
                                                 "; slots are numbered from 0 to " +
                                                 std::to_string(pool_->size() - 1));
  }
  if (pool_->entry(slot).free) return {};
  const char* const what = pool_->entry(slot).saving ? "being saved" : "answering a request";
  return Fail(ErrorCode::kUnavailable,
              "slot " + std::to_string(slot) + " is " + what + "; try again when it is done");
}

Result<size_t> SlotArchive::Erase(size_t slot, NamespaceId name_space) {
  if (Status usable = CheckFree(slot); !usable) return tl::unexpected(usable.error());
  Slot& erased = pool_->slot(slot);
  const size_t tokens = erased.tokens().size();
  if (tokens > 0 && OwnerOf(erased.name_space()) != OwnerOf(name_space)) {
    return Fail(ErrorCode::kInvalidArgument,
                "slot " + std::to_string(slot) +
                    " holds a conversation of another API key; only that one can erase it");
  }
  erased.Clear(erased.name_space());
  return tokens;
}

Result<SlotContent> SlotArchive::BeginSaving(size_t slot, NamespaceId name_space) {
  if (Status usable = CheckFree(slot); !usable) return tl::unexpected(usable.error());
  SlotPool::Entry& entry = pool_->entry(slot);
  const std::string name = "slot " + std::to_string(slot);
  if (entry.slot.own_tokens() == 0) {
    return Fail(ErrorCode::kInvalidArgument, name + " is empty; there is nothing to save");
  }
  if (OwnerOf(entry.slot.name_space()) == OwnerOf(name_space) &&
      entry.slot.name_space() != name_space) {
    return Fail(ErrorCode::kUnsupported,
                name +
                    " holds a conversation with other LoRA adapters than those of the start; it "
                    "cannot be saved to a file");
  }
  if (entry.slot.name_space() != name_space) {
    return Fail(ErrorCode::kInvalidArgument,
                name + " holds a conversation of another API key; only that one can save it");
  }
  const MemoryTraits& traits = pool_->engine().traits();
  if (traits.kv_bytes_per_token > 0 && !traits.segments && !traits.full_states) {
    return Fail(ErrorCode::kUnsupported, "this model's state cannot be copied out of a slot");
  }
  if (!traits.segments && !entry.slot.is_own()) {
    return Fail(
        ErrorCode::kUnsupported,
        name + " holds moved chunks (--cache-reuse, --context-shift), which cannot be saved");
  }
  if (Status exact = CheckExact(*pool_, entry.slot.own_tokens()); !exact) {
    return tl::unexpected(exact.error());
  }
  entry.free = false;
  entry.saving = true;
  return ContentOf(entry.slot);
}

SlotContent SlotArchive::ContentOf(const Slot& slot) const {
  using Kind = SlotPart::Kind;
  const MemoryTraits& traits = pool_->engine().traits();
  SlotContent content{slot.name_space(), slot.tokens(), slot.own_provenance(), {}};
  content.tokens.resize(slot.own_tokens());
  if (traits.kv_bytes_per_token > 0 && !traits.segments) {
    content.parts.push_back({Kind::kFullState});
  } else if (traits.kv_bytes_per_token > 0) {
    // Takes all ranges from the slot, whichever of them the cache has.
    const auto ranges = SegmentIndex().Gaps(0, content.tokens, content.provenance);
    for (const SegmentGap& range : CutInto(ranges, kSegmentTokensMax)) {
      content.parts.push_back({Kind::kSegment, range});
    }
  }
  AddCheckpoints(&content);
  return content;
}

void SlotArchive::AddCheckpoints(SlotContent* content) const {
  using Kind = SlotPart::Kind;
  const MemoryTraits& traits = pool_->engine().traits();
  const bool has_kv = traits.kv_bytes_per_token > 0;
  const bool is_one_state = has_kv && !traits.segments;
  const size_t end = content->tokens.size();
  const auto match = pool_->cache().Match(content->name_space, content->tokens);
  for (const Checkpoint& held : match.checkpoints) {
    const bool own = held.lineage == content->provenance.LineageAt(held.position);
    const bool can_resume = own || (!has_kv && held.on_grid());
    const bool is_end = !is_one_state && held.position == end && held.logits_bytes == 0;
    if (can_resume && !is_end) content->parts.push_back({Kind::kCheckpoint, {}, held});
  }
  Checkpoint last;
  last.position = end;
  last.checkpoint_class = CheckpointClass::kReply;
  last.lineage = content->provenance.LineageAt(end);
  // On the grid, a slot can resume from segments alone.
  const bool needed = traits.NeedsSnapshots() || !last.on_grid();
  if (!is_one_state && needed) content->parts.push_back({Kind::kEnd, {}, last});
}

Result<Bytes> SlotArchive::TakePart(size_t slot_index, const SlotPart& part) {
  CHECK(pool_->entry(slot_index).saving);
  Slot& slot = pool_->slot(slot_index);
  switch (part.kind) {
    case SlotPart::Kind::kSegment:
      return slot.TakeSegment(part.range);
    case SlotPart::Kind::kFullState:
      return slot.TakeFullState();
    case SlotPart::Kind::kCheckpoint: {
      const auto held = pool_->cache().Pin(part.checkpoint.id);
      if (!held) return Fail(ErrorCode::kNotFound, held.error().message);
      Bytes bytes;
      const Status room = TryResize(&bytes, held->size());
      if (room) std::copy(held->begin(), held->end(), bytes.begin());
      pool_->cache().Unpin(part.checkpoint.id);
      if (!room) return tl::unexpected(room.error());
      return bytes;
    }
    case SlotPart::Kind::kEnd:
      if (pool_->engine().traits().NeedsSnapshots()) return slot.TakeSnapshot();
      return Bytes();
  }
  return Bytes();
}

void SlotArchive::EndSaving(size_t slot) {
  SlotPool::Entry& entry = pool_->entry(slot);
  CHECK(entry.saving);
  pool_->engine().ReleaseTaken();
  entry.saving = false;
  entry.free = true;
}

void SlotArchive::EndAllSaving() {
  for (size_t i = 0; i < pool_->size(); ++i) {
    if (pool_->entry(i).saving) EndSaving(i);
  }
}

Status SlotArchive::CheckFits(const SavedSlot& saved) const {
  const MemoryTraits& traits = pool_->engine().traits();
  const std::string tokens = std::to_string(saved.tokens.size());
  if (saved.tokens.size() > pool_->engine().context_tokens()) {
    return Fail(ErrorCode::kTooLong, "the conversation has " + tokens +
                                         " tokens, and a slot holds at most " +
                                         std::to_string(pool_->engine().context_tokens()) +
                                         "; start the server with a larger --ctx-size");
  }
  if (saved.whole) {
    if (Status exact = CheckExact(*pool_, saved.tokens.size()); !exact) return exact;
  }
  const bool has_kv = traits.kv_bytes_per_token > 0;
  // With a stream for each slot, slots were once saved whole although their KV can be cut.
  const bool whole_fits = has_kv && traits.full_states && !(traits.segments && traits.one_buffer);
  const bool fits = saved.whole ? whole_fits : saved.parts.empty() ? !has_kv : traits.segments;
  if (fits) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "its states have another layout than this server's; start the server with the same "
              "--parallel and --reuse as the one that saved them");
}

Status SlotArchive::MakeRoom(size_t slot, size_t tokens) {
  const CellLedger& ledger = pool_->ledger();
  while (ledger.used() - ledger.OnlyIn(slot) + tokens > pool_->engine().cells()) {
    const auto idle = pool_->LongestUnused(slot, slot);
    if (!idle) {
      return Fail(ErrorCode::kUnavailable,
                  "running requests fill the context and leave no room for " +
                      std::to_string(tokens) + " tokens; try again when they are done");
    }
    offloader_->OffloadAndClear(*idle);
  }
  return {};
}

Status SlotArchive::Restore(size_t slot_index, SavedSlot saved) {
  if (Status usable = CheckFree(slot_index); !usable) return usable;
  if (Status fits = CheckFits(saved); !fits) return fits;
  SlotPool::Entry& entry = pool_->entry(slot_index);
  Slot& slot = entry.slot;
  if (Status room = MakeRoom(slot_index, saved.tokens.size()); !room) return room;
  if (LostTokens(slot, saved.name_space, saved.tokens, false) > 0) offloader_->Offload(&slot);
  slot.Clear(saved.name_space);
  pool_->NextTick();
  entry.used_tick = pool_->tick();
  entry.released_ms = pool_->NowMs();
  entry.segments_left.reset();
  if (Status set = SetSaved(&slot, saved); !set) {
    ++pool_->counters().failed;
    slot.Clear(saved.name_space);
    return Fail(ErrorCode::kInvalidArgument, "its states were refused: " + set.error().message);
  }
  KeepCheckpoints(std::move(saved));
  return {};
}

Status SlotArchive::SetSaved(Slot* slot, const SavedSlot& saved) {
  if (saved.whole) {
    FullState whole;
    whole.name_space = saved.name_space;
    whole.tokens = saved.tokens;
    whole.provenance = saved.provenance;
    return slot->SetFullState(whole, *saved.whole);
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
  return SlotAssembly(slot, saved.tokens, saved.provenance).AtOnce(0, parts, saved.end_state);
}

// If the budget holds fewer, the later ones stay, or those that the eviction policy prefers.
void SlotArchive::KeepCheckpoints(SavedSlot saved) {
  const auto match = pool_->cache().Match(saved.name_space, saved.tokens);
  for (SavedSlot::SavedCheckpoint& checkpoint : saved.checkpoints) {
    const Checkpoint& what = checkpoint.what;
    const bool held = std::any_of(
        match.checkpoints.begin(), match.checkpoints.end(), [&](const Checkpoint& other) {
          return other.position == what.position && other.lineage == what.lineage &&
                 other.logits_bytes == what.logits_bytes;
        });
    if (held) continue;
    const TokenSpan prefix = TokenSpan(saved.tokens).first(what.position);
    static_cast<void>(
        pool_->cache().Insert(saved.name_space, prefix, what, std::move(checkpoint.bytes)));
  }
}

}  // namespace cairn
