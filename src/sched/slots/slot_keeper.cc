#include "sched/slots/slot_keeper.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/allocate.h"
#include "base/check.h"
#include "sched/upkeep/schedule_trace.h"

namespace cairn {
namespace {

// A new measurement counts for so much of the average.
constexpr double kNewShare = 0.25;

void Average(double value, double* average) {
  *average = *average == 0 ? value : *average + kNewShare * (value - *average);
}

ByteSpan WithoutLogits(ByteSpan stored, const Checkpoint& checkpoint) {
  return stored.first(stored.size() - checkpoint.logits_bytes);
}

}  // namespace

SlotKeeper::SlotKeeper(Engine* engine, CheckpointCache* cache, const Clock* clock,
                       const Options& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      options_(options),
      ledger_(engine->slots()),
      last_lineage_(options.first_lineage) {
  CHECK(engine->slots() > 0 && engine->cells() >= engine->context_tokens());
  for (size_t i = 0; i < engine->slots(); ++i) {
    slots_.push_back({Slot(engine, &ledger_, static_cast<SeqId>(i), options.grid_tokens)});
  }
  SlotsView view;
  view.needs_snapshots = engine->traits().NeedsSnapshots();
  // Of slots stored whole the cache does not ask which snapshots they serve.
  view.snapshots_need_kv = engine->traits().segments && engine->traits().kv_bytes_per_token > 0;
  view.held = [this] {
    std::vector<SlotsView::Held> held;
    for (const Kept& kept : slots_) {
      const TokenSpan own = TokenSpan(kept.slot.tokens()).first(kept.slot.own_tokens());
      held.push_back({kept.slot.name_space(), own, &kept.slot == offloading_});
    }
    return held;
  };
  cache->SetSlots(std::move(view));
}

SlotKeeper::~SlotKeeper() {
  cache_->SetSlots({});
}

ResumeRules SlotKeeper::Rules(const SlotNeeds& needs) const {
  const MemoryTraits& traits = engine_->traits();
  ResumeRules rules;
  rules.mode = options_.mode;
  rules.grid_tokens = options_.grid_tokens;
  rules.needs_snapshots = traits.NeedsSnapshots();
  rules.snapshot_needs_slot = traits.memory_class != MemoryClass::kRecurrent;
  rules.segments = traits.segments;
  rules.kv_bytes_per_token = traits.kv_bytes_per_token;
  rules.join_bytes_per_read_token = prefill_ms_per_token_ * join_bytes_per_ms_;
  rules.in_answer = needs.in_answer;
  return rules;
}

void SlotKeeper::ObservePrefill(size_t tokens, double ms) {
  if (tokens > 0 && ms > 0) Average(ms / static_cast<double>(tokens), &prefill_ms_per_token_);
}

size_t SlotKeeper::free_slots() const {
  const auto free =
      std::count_if(slots_.begin(), slots_.end(), [](const Kept& kept) { return kept.free; });
  return static_cast<size_t>(free);
}

bool SlotKeeper::HasRoomFor(size_t tokens) const {
  std::vector<bool> in_use;
  for (const Kept& kept : slots_) in_use.push_back(!kept.free);
  return ledger_.UsedBy(in_use) + tokens <= engine_->cells();
}

void SlotKeeper::Release(size_t slot) {
  CHECK(!slots_[slot].free);
  slots_[slot].free = true;
  slots_[slot].released_ms = clock_->NowMs();
  slots_[slot].chunks_left.reset();
  slots_[slot].beside_tokens = 0;
  slots_[slot].stays = false;
}

Result<size_t> SlotKeeper::Erase(size_t slot, NamespaceId name_space) {
  if (Status usable = CheckFree(slot); !usable) return tl::unexpected(usable.error());
  Slot& erased = slots_[slot].slot;
  const size_t tokens = erased.tokens().size();
  if (tokens > 0 && erased.name_space() != name_space) {
    return Fail(ErrorCode::kInvalidArgument,
                "slot " + std::to_string(slot) +
                    " holds a conversation of another API key; only that one can erase it");
  }
  erased.Clear(erased.name_space());
  return tokens;
}

void SlotKeeper::EmptyAfterFailure(size_t slot) {
  Kept& kept = slots_[slot];
  kept.slot.Clear(kept.slot.name_space());
  kept.chunks_left.reset();
  kept.stays = false;
  kept.free = !kept.saving;
  offloading_ = nullptr;
}

SlotKeeper::Resumed SlotKeeper::Resume(const SlotNeeds& needs) {
  TraceSpan span(options_.trace, "resume");
  const uint64_t failed = stats_.failed;
  Resumed resumed = GoBack(needs);
  if (!span.on()) return resumed;
  span.Add("slot", resumed.slot).Add(TraceArgsOf(resumed.report));
  if (stats_.failed > failed) span.Add("failed", stats_.failed - failed);
  return resumed;
}

SlotKeeper::Resumed SlotKeeper::GoBack(SlotNeeds needs) {
  // `exact` promises bits that nothing vouches for where no grid was found.
  const bool no_grid = engine_->traits().grid_tokens == 0 && options_.mode == ReuseMode::kExact;
  const CheckpointCache::MatchResult nothing;
  if (no_grid) needs.reuse = false;
  ++tick_;
  Way way = Choose(needs);
  if (auto moved = ResumeByMoving(needs, way)) return std::move(*moved);
  const double begin_ms = clock_->NowMs();
  std::optional<Held> held = Hold(needs, way);
  const double hold_ms = clock_->NowMs() - begin_ms;
  if (!held) {
    // What the cache promised is gone; the slots alone promise nothing that can go.
    ++stats_.failed;
    needs.match = &nothing;
    way = Choose(needs);
    held = Hold(needs, way);
    CHECK(held.has_value());
  }
  Kept& kept = slots_[way.slot];
  kept.free = false;
  kept.used_tick = tick_;
  if (LostTokens(kept.slot, needs.name_space, needs.prompt, needs.keeps_answer) > 0) {
    Offload(&kept.slot);
  }
  MakeRoom(needs, way);
  Resumed resumed{way.slot, {}, {}};
  const bool own = kept.slot.name_space() == needs.name_space;
  const size_t had = own ? CommonPrefix(kept.slot.tokens(), needs.prompt) : 0;
  const double go_ms = clock_->NowMs();
  if (const Status gone = GoTo(needs, way, *held); gone) {
    resumed.report = Report(way, *held, had);
    resumed.report.restore_ms = hold_ms + clock_->NowMs() - go_ms;
    const Checkpoint& checkpoint = way.point.checkpoint;
    const size_t bytes = way.point.position == needs.prompt.size() ? checkpoint.logits_bytes : 0;
    resumed.logits.resize(bytes / sizeof(float));
    if (bytes > 0) {
      std::memcpy(resumed.logits.data(), held->snapshot.last(bytes).data(), bytes);
    }
    Unhold(way, *held);
  } else {
    ++stats_.failed;
    kept.slot.Clear(needs.name_space);
    Unhold(way, *held);
    // Where others hold the cells, nothing is wrong with the state; and what could not be read the
    // cache knows itself.
    const ErrorCode why = gone.error().code;
    if (why != ErrorCode::kNoSpace && why != ErrorCode::kNotFound) Forget(way, *held);
  }
  kept.slot.BeginLineage(++last_lineage_);
  return resumed;
}

Way SlotKeeper::Choose(const SlotNeeds& needs) const {
  const bool none_free = !has_free();
  std::vector<SlotView> views;
  for (const Kept& kept : slots_) {
    views.push_back({&kept.slot, kept.free || none_free, kept.used_tick});
  }
  return ChooseWay(Rules(needs), needs, views, tick_);
}

SlotKeeper::Reach SlotKeeper::ReachOf(const SlotNeeds& needs) const {
  const Way way = Choose(needs);
  const bool lends = way.source == Way::Source::kFork && !slots_[way.from].free;
  return {way.point.position, lends ? way.point.position : 0};
}

std::optional<SlotKeeper::Held> SlotKeeper::Hold(const SlotNeeds& needs, const Way& way) {
  Held held;
  const ResumePoint& point = way.point;
  Way pinned = way;
  pinned.whole = nullptr;
  pinned.point.checkpoint.id = 0;
  if (point.checkpoint.id != 0) {
    held.from_disk = !cache_->InMemory(point.checkpoint.id);
    const auto snapshot = cache_->Pin(point.checkpoint.id);
    if (!snapshot) return std::nullopt;
    held.snapshot = *snapshot;
    pinned.point.checkpoint.id = point.checkpoint.id;
  }
  if (way.whole != nullptr) {
    held.from_disk = held.from_disk || !cache_->InMemory(way.whole->id);
    const auto whole = cache_->PinWhole(way.whole->id);
    if (!whole) {
      Unhold(pinned, held);
      return std::nullopt;
    }
    held.whole = *whole;
  }
  if (point.kind != ResumePoint::Kind::kJoin) return held;
  auto path = cache_->PinPath(needs.name_space, needs.prompt.first(point.position),
                              point.checkpoint.lineage);
  if (!path) {
    Unhold(pinned, held);
    return std::nullopt;
  }
  held.path = std::move(*path);
  return held;
}

void SlotKeeper::Unhold(const Way& way, const Held& held) {
  if (way.point.checkpoint.id != 0) cache_->Unpin(way.point.checkpoint.id);
  if (way.whole != nullptr) cache_->UnpinWhole(way.whole->id);
  if (held.path) cache_->UnpinPath(*held.path);
}

// What could not be used is not tried again.
void SlotKeeper::Forget(const Way& way, const Held& held) {
  if (way.point.checkpoint.id != 0) cache_->Discard(way.point.checkpoint.id);
  if (way.whole != nullptr) cache_->DiscardWhole(way.whole->id);
  if (held.path) cache_->DiscardPath(*held.path);
}

Status SlotKeeper::GoTo(const SlotNeeds& needs, const Way& way, const Held& held) {
  Slot& slot = slots_[way.slot].slot;
  const TokenSpan prefix = needs.prompt.first(way.point.position);
  switch (way.source) {
    case Way::Source::kOwn:
      if (slot.name_space() != needs.name_space) slot.Clear(needs.name_space);
      return GoFromOwn(&slot, prefix, way.point, held);
    case Way::Source::kFork: {
      const ByteSpan snapshot = WithoutLogits(held.snapshot, way.point.checkpoint);
      const Slot& lender = slots_[way.from].slot;
      if (Status forked = slot.Fork(lender, prefix.size(), snapshot); !forked) return forked;
      ++stats_.forked;
      return {};
    }
    case Way::Source::kWhole:
      if (Status set = slot.SetWhole(*way.whole, held.whole); !set) return set;
      ++stats_.wholes_set;
      return GoFromOwn(&slot, prefix, way.point, held);
  }
  return {};
}

Status SlotKeeper::GoFromOwn(Slot* slot, TokenSpan prefix, const ResumePoint& point,
                             const Held& held) {
  const ByteSpan snapshot = WithoutLogits(held.snapshot, point.checkpoint);
  switch (point.kind) {
    case ResumePoint::Kind::kNothing:
      slot->Clear(slot->name_space());
      return {};
    case ResumePoint::Kind::kContinue:
      return {};
    case ResumePoint::Kind::kTruncate:
      return slot->Truncate(point.position);
    case ResumePoint::Kind::kRestore:
      if (Status restored = slot->Restore(prefix, point.checkpoint, snapshot); !restored) {
        return restored;
      }
      ++stats_.checkpoints_restored;
      return {};
    case ResumePoint::Kind::kJoin:
      return Join(slot, prefix, point, held);
  }
  return {};
}

Status SlotKeeper::Join(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Held& held) {
  const ByteSpan snapshot = WithoutLogits(held.snapshot, point.checkpoint);
  // As ChooseResume counts them, which asks what so many would take.
  const size_t bytes =
      point.checkpoint.bytes + prefix.size() * engine_->traits().kv_bytes_per_token;
  const double begin_ms = clock_->NowMs();
  const size_t shared = CommonPrefix(slot->tokens(), prefix);
  const CheckpointCache::PinnedPath& path = *held.path;
  std::vector<SegmentPart> parts;
  for (size_t i = 0; i < path.parts.size(); ++i) {
    parts.push_back({path.parts[i].begin, path.parts[i].end, {}, [this, &path, i] {
                       return cache_->LoadPart(path, i);
                     }});
  }
  Status joined = slot->Join(prefix, shared, path.provenance, parts, snapshot);
  if (!joined) return joined;
  const double ms = clock_->NowMs() - begin_ms;
  if (ms > 0) Average(static_cast<double>(bytes) / ms, &join_bytes_per_ms_);
  ++stats_.joined;
  return {};
}

// A full context refuses states without saying why, so there is room before one is set. What other
// prompts are at work on stays; if that is too much, reading on will notice.
void SlotKeeper::MakeRoom(const SlotNeeds& needs, const Way& way) {
  const bool forks = way.source == Way::Source::kFork;
  const size_t wanted = needs.prompt.size() - (forks ? way.point.position : 0);
  const size_t lender = forks ? way.from : way.slot;
  while (ledger_.used() - ledger_.OnlyIn(way.slot) + wanted > engine_->cells()) {
    const auto idle = LongestUnused(way.slot, lender);
    if (!idle) return;
    OffloadAndClear(*idle);
  }
}

std::optional<size_t> SlotKeeper::LongestUnused(size_t but, size_t and_but) const {
  std::optional<size_t> found;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Kept& kept = slots_[i];
    if (i == but || i == and_but || !kept.free || kept.slot.tokens().empty()) continue;
    if (!found || kept.used_tick < slots_[*found].used_tick) found = i;
  }
  return found;
}

bool SlotKeeper::EmptyAFreeSlot() {
  const auto idle = LongestUnused(slots_.size(), slots_.size());
  if (idle) OffloadAndClear(*idle);
  return idle.has_value();
}

void SlotKeeper::OffloadAndClear(size_t slot) {
  Offload(&slots_[slot].slot);
  slots_[slot].slot.Clear(slots_[slot].slot.name_space());
}

void SlotKeeper::TakeCheckpoint(size_t slot_index, CheckpointClass checkpoint_class, size_t turns) {
  Slot& slot = slots_[slot_index].slot;
  if (!slot.is_own()) return;
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = checkpoint_class;
  checkpoint.lineage = slot.lineage();
  checkpoint.turns = turns;
  if (cache_->Holds(slot.name_space(), slot.tokens(), checkpoint.lineage)) return;
  // On the grid, segments lead back without one.
  if (checkpoint.on_grid() && !engine_->traits().NeedsSnapshots()) return;
  TraceSpan span(options_.trace, "checkpoint");
  Bytes snapshot;
  if (engine_->traits().NeedsSnapshots()) {
    auto taken = slot.TakeSnapshot();
    if (!taken) return;
    snapshot = std::move(*taken);
  }
  const size_t bytes = snapshot.size();
  const auto kept =
      cache_->Insert(slot.name_space(), slot.tokens(), checkpoint, std::move(snapshot));
  if (kept) ++stats_.checkpoints_taken;
  EndCheckpoint(&span, slot, checkpoint_class, bytes, kept.has_value());
}

void SlotKeeper::EndCheckpoint(TraceSpan* span, const Slot& slot, CheckpointClass checkpoint_class,
                               size_t bytes, bool kept) {
  if (!span->on()) return;
  span->Add("slot", static_cast<size_t>(slot.seq()));
  span->Add("class", CheckpointClassName(checkpoint_class)).Add("position", slot.tokens().size());
  // With no room for it there, it is nowhere.
  span->Add("bytes", bytes).Add("tier", kept ? "ram" : "none").End();
}

void SlotKeeper::KeepEnd(size_t slot_index, std::span<const float> logits) {
  if (!options_.keep_ends) return;
  Slot& slot = slots_[slot_index].slot;
  if (!slot.is_own()) return;
  const Provenance& provenance = slot.provenance();
  const size_t last_cut = LastCut(slot.tokens().size(), options_.grid_tokens);
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = CheckpointClass::kEnd;
  checkpoint.lineage = slot.lineage();
  checkpoint.cold_end = provenance.clean >= last_cut;
  checkpoint.logits_bytes = logits.size_bytes();
  TraceSpan span(options_.trace, "checkpoint");
  Bytes bytes;
  if (engine_->traits().NeedsSnapshots()) {
    auto taken = slot.TakeSnapshot();
    if (!taken) return;
    bytes = std::move(*taken);
  }
  const size_t snapshot_bytes = bytes.size();
  if (!TryResize(&bytes, snapshot_bytes + logits.size_bytes())) return;
  std::memcpy(bytes.data() + snapshot_bytes, logits.data(), logits.size_bytes());
  const size_t all_bytes = bytes.size();
  const auto kept = cache_->Insert(slot.name_space(), slot.tokens(), checkpoint, std::move(bytes));
  if (kept) ++stats_.checkpoints_taken;
  EndCheckpoint(&span, slot, CheckpointClass::kEnd, all_bytes, kept.has_value());
}

}  // namespace cairn
