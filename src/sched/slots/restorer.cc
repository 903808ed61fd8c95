#include "sched/slots/restorer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/kept_window.h"
#include "sched/answer/schedule_trace.h"

namespace cairn {
namespace {

// An end that a slot loses is short if it is an edited message's or another answer's. A longer one
// may be that of a conversation which goes on, when another with the same beginning takes its slot.
constexpr size_t kShortEndTokens = 128;
// The worth of a short end where storing it would evict others: an edit is seldom taken back.
constexpr double kLostWantedShare = 0.125;
// A path whose assembly takes longer is assembled in parts.
constexpr double kAtOnceMsMax = 50;

// Whether a slot with this full state can go on along the prompt: from anywhere, or from its end.
bool LeadsOn(const MemoryTraits& traits, ReuseMode mode, const FullState& whole, TokenSpan prompt) {
  const size_t end = whole.tokens.size();
  if (HoldsAllRows(traits, end)) return true;
  return mode != ReuseMode::kExact && end < prompt.size() &&
         CommonPrefix(whole.tokens, prompt) == end;
}

ReuseReport::Path PathOf(const ResumePath& path) {
  if (path.source == ResumePath::Source::kFork) return ReuseReport::Path::kForked;
  if (path.source == ResumePath::Source::kFullState) return ReuseReport::Path::kFullState;
  switch (path.point.kind) {
    case ResumePoint::Kind::kNothing:
      return ReuseReport::Path::kNothing;
    case ResumePoint::Kind::kContinue:
      return ReuseReport::Path::kWentOn;
    case ResumePoint::Kind::kTruncate:
      return ReuseReport::Path::kCut;
    case ResumePoint::Kind::kRestore:
      return ReuseReport::Path::kRestored;
    case ResumePoint::Kind::kAssemble:
      return ReuseReport::Path::kAssembled;
  }
  return ReuseReport::Path::kNothing;
}

}  // namespace

Restorer::Resumed Restorer::Resume(const SlotNeeds& needs) {
  TraceSpan span(pool_->options().trace, "resume");
  const uint64_t failed = pool_->counters().failed;
  Resumed resumed = ResumeAnyhow(needs);
  if (needs.cache_key != 0) {
    uint64_t& last_key = pool_->entry(resumed.slot).cache_key;
    resumed.report.same_key_slot = std::exchange(last_key, needs.cache_key) == needs.cache_key;
  }
  if (!span.on()) return resumed;
  span.Add("slot", resumed.slot).Add(TraceArgsOf(resumed.report));
  const uint64_t failures = pool_->counters().failed - failed;
  if (failures > 0) span.Add("failed", failures);
  return resumed;
}

bool Restorer::MayReuse() const {
  return pool_->engine().traits().grid_tokens > 0 || pool_->options().mode != ReuseMode::kExact;
}

Restorer::Resumed Restorer::ResumeAnyhow(SlotNeeds needs) {
  const CheckpointCache::MatchResult nothing;
  if (!MayReuse()) needs.reuse = false;
  pool_->NextTick();
  ResumePath path = Choose(needs);
  if (auto moved = ResumeByMoving(needs, path)) return std::move(*moved);
  const double pin_begin_ms = pool_->NowMs();
  std::optional<Pins> pins = Pin(needs, path);
  const double pin_ms = pool_->NowMs() - pin_begin_ms;
  if (!pins) {
    // An object that the cache named is gone. The second choice uses the slots alone, where nothing
    // can be gone.
    ++pool_->counters().failed;
    needs.match = &nothing;
    path = Choose(needs);
    pins = Pin(needs, path);
    CHECK(pins.has_value());
  }
  pool_->Use(path.slot);
  Slot& slot = pool_->slot(path.slot);
  const size_t lost = LostTokens(slot, needs.name_space, needs.prompt, needs.keeps_answer);
  if (StoringPays(slot, lost)) offloader_->Offload(&slot);
  MakeRoom(needs, path);
  Resumed resumed{path.slot, {}, {}};
  const size_t had_tokens = HeldTokens(needs, path.slot);
  const double begin_ms = pool_->NowMs();
  slot.BeginLineage(pool_->NextLineage());
  const Status followed = Follow(needs, path, *pins);
  if (followed) {
    Describe(needs, path, *pins, had_tokens, &resumed);
    resumed.report.restore_ms = pin_ms + pool_->NowMs() - begin_ms;
  } else {
    ++pool_->counters().failed;
    slot.Clear(needs.name_space);
  }
  Unpin(path, *pins);
  // If other slots hold the cells, the state is good; and the cache itself records which objects it
  // could not load.
  const bool is_broken = !followed && followed.error().code != ErrorCode::kNoSpace &&
                         followed.error().code != ErrorCode::kNotFound;
  if (is_broken) Discard(path, *pins);
  return resumed;
}

void Restorer::Describe(const SlotNeeds& needs, const ResumePath& path, const Pins& pins,
                        size_t had_tokens, Resumed* resumed) const {
  resumed->report = Report(path, pins, had_tokens);
  if (path.point.position < needs.prompt.size()) return;
  const size_t bytes = path.point.checkpoint.logits_bytes;
  if (bytes == 0) return;
  resumed->logits.resize(bytes / sizeof(float));
  std::memcpy(resumed->logits.data(), pins.snapshot.last(bytes).data(), bytes);
}

std::optional<Restorer::Resumed> Restorer::ResumeByMoving(const SlotNeeds& needs,
                                                          const ResumePath& otherwise) {
  const auto move = mover_.Find(needs);
  if (!move || move->end() <= otherwise.point.position) return std::nullopt;
  pool_->Use(move->slot);
  Slot& slot = pool_->slot(move->slot);
  if (LostTokens(slot, needs.name_space, needs.prompt, false) > 0) offloader_->Offload(&slot);
  ResumePath path;
  path.slot = move->slot;
  MakeRoom(needs, path);
  if (mover_.Apply(*move)) {
    ++pool_->counters().moved;
  } else {
    ++pool_->counters().failed;
    slot.Clear(needs.name_space);
  }
  slot.BeginLineage(pool_->NextLineage());
  Resumed resumed{move->slot, {}, {}};
  resumed.report.path = ReuseReport::Path::kMoved;
  resumed.report.reused_tokens = resumed.report.live_tokens = slot.tokens().size();
  return resumed;
}

ResumePath Restorer::Choose(const SlotNeeds& needs) const {
  const MemoryTraits& traits = pool_->engine().traits();
  const ReuseMode mode = pool_->options().mode;
  const auto leads_nowhere = [&](const FullState* whole) {
    return !LeadsOn(traits, mode, *whole, needs.prompt);
  };
  const std::vector<const FullState*>& all = needs.match->full_states;
  if (std::any_of(all.begin(), all.end(), leads_nowhere)) {
    CheckpointCache::MatchResult match = *needs.match;
    std::erase_if(match.full_states, leads_nowhere);
    SlotNeeds others = needs;
    others.match = &match;
    return Choose(others);
  }
  const bool none_free = !pool_->has_free();
  std::vector<SlotView> views;
  for (const SlotPool::Entry& entry : pool_->entries()) {
    views.push_back({&entry.slot, entry.free || none_free, entry.used_tick, entry.cache_key});
  }
  return ChooseResumePath(Rules(needs), needs, views, pool_->tick());
}

Restorer::Reach Restorer::ReachOf(const SlotNeeds& needs) const {
  const ResumePath path = Choose(needs);
  const bool lends = path.source == ResumePath::Source::kFork && !pool_->entry(path.from).free &&
                     pool_->engine().traits().one_buffer;
  return {path.point.position, lends ? path.point.position : 0};
}

std::vector<uint64_t> Restorer::ToLoad(const SlotNeeds& needs) const {
  if (!MayReuse()) return {};
  const ResumePath path = Choose(needs);
  if (BytesInParts(needs, path) > pool_->cache().loader().bytes_max()) return {};
  const ResumePoint& point = path.point;
  std::vector<uint64_t> ids;
  if (point.kind == ResumePoint::Kind::kAssemble) {
    const size_t held_tokens = HeldTokens(needs, path.slot);
    for (const SegmentIndex::Link& link : pool_->cache().PathTo(
             needs.name_space, needs.prompt.first(point.position), point.checkpoint.lineage)) {
      if (link.end > held_tokens) ids.push_back(link.id);
    }
  }
  if (path.full_state != nullptr) ids.push_back(path.full_state->id);
  if (point.checkpoint.id != 0) ids.push_back(point.checkpoint.id);
  const bool in_memory = std::all_of(
      ids.begin(), ids.end(), [this](const uint64_t id) { return pool_->cache().InMemory(id); });
  return in_memory ? std::vector<uint64_t>{} : ids;
}

size_t Restorer::HeldTokens(const SlotNeeds& needs, size_t slot) const {
  const Slot& held = pool_->slot(slot);
  return held.name_space() == needs.name_space ? CommonPrefix(held.tokens(), needs.prompt) : 0;
}

std::vector<Restorer::Losing> Restorer::SlotsToStore(const SlotNeeds& needs) const {
  std::vector<Losing> losing;
  const ResumePath path = Choose(needs);
  const auto add = [&](size_t index, size_t lost_tokens) {
    if (!offloader_->IsStored(pool_->slot(index))) losing.push_back({index, lost_tokens});
  };
  const size_t lost =
      LostTokens(pool_->slot(path.slot), needs.name_space, needs.prompt, needs.keeps_answer);
  if (StoringPays(pool_->slot(path.slot), lost)) add(path.slot, lost);
  // Those that MakeRoom will empty.
  std::vector<size_t> idle;
  for (size_t i = 0; i < pool_->size(); ++i) {
    const bool lends = Forks(path) && i == path.from;
    const bool is_idle = pool_->entry(i).free && !pool_->slot(i).tokens().empty();
    if (is_idle && i != path.slot && !lends) idle.push_back(i);
  }
  std::sort(idle.begin(), idle.end(), [this](size_t a, size_t b) {
    return pool_->entry(a).used_tick < pool_->entry(b).used_tick;
  });
  const CellLedger& ledger = pool_->ledger();
  size_t used = ledger.used() - ledger.OnlyIn(path.slot);
  for (const size_t index : idle) {
    if (used + CellsWanted(needs, path) <= pool_->engine().cells()) break;
    used -= std::min(used, ledger.OnlyIn(index));
    add(index, pool_->slot(index).tokens().size());
  }
  return losing;
}

std::optional<ReuseReport> Restorer::AtHand(const SlotNeeds& needs) {
  if (!MayReuse()) return std::nullopt;
  const ResumePath path = Choose(needs);
  const ResumePoint& point = path.point;
  if (point.kind == ResumePoint::Kind::kNothing || point.kind == ResumePoint::Kind::kAssemble) {
    return std::nullopt;
  }
  if (path.source == ResumePath::Source::kFullState) return std::nullopt;
  const CheckpointId checkpoint = point.checkpoint.id;
  if (checkpoint != 0 && !pool_->cache().InMemory(checkpoint)) return std::nullopt;
  // A request that continues from there will need it, so it counts as used.
  const std::optional<Pins> pins = Pin(needs, path);
  if (!pins) return std::nullopt;
  ReuseReport report = Report(path, *pins, point.position);
  Unpin(path, *pins);
  report.restored_bytes = 0;
  return report;
}

bool Restorer::StoringPays(const Slot& slot, size_t lost_tokens) const {
  if (lost_tokens == 0) return false;
  const double bytes_per_token = assembled_bytes_per_prefill_token();
  if (lost_tokens > kShortEndTokens || bytes_per_token <= 0) return true;
  const MemoryTraits& traits = pool_->engine().traits();
  size_t bytes = traits.snapshot_bytes;
  const TokenSpan tokens = TokenSpan(slot.tokens()).first(slot.own_tokens());
  for (const SegmentGap& gap : pool_->cache().MissingSegments(slot.name_space(), tokens,
                                                              slot.own_provenance(), slot.cuts())) {
    bytes += (gap.end - gap.begin) * traits.kv_bytes_per_token;
  }
  const double worth = pool_->cache().free_bytes() >= bytes ? 1 : kLostWantedShare;
  return static_cast<double>(lost_tokens) * worth * bytes_per_token >= static_cast<double>(bytes);
}

bool Restorer::Forks(const ResumePath& path) const {
  return path.source == ResumePath::Source::kFork && pool_->engine().traits().one_buffer;
}

size_t Restorer::CellsWanted(const SlotNeeds& needs, const ResumePath& path) const {
  return needs.prompt.size() - (Forks(path) ? path.point.position : 0);
}

void Restorer::MakeRoom(const SlotNeeds& needs, const ResumePath& path) {
  const size_t wanted = CellsWanted(needs, path);
  const size_t lender = Forks(path) ? path.from : path.slot;
  const CellLedger& ledger = pool_->ledger();
  while (ledger.used() - ledger.OnlyIn(path.slot) + wanted > pool_->engine().cells()) {
    const auto idle = pool_->LongestUnused(path.slot, lender);
    if (!idle) return;
    offloader_->OffloadAndClear(*idle);
  }
}

Status Restorer::Assemble(Slot* slot, TokenSpan prefix, const ResumePoint& point,
                          const Pins& pins) {
  const ByteSpan snapshot = WithoutLogits(pins.snapshot, point.checkpoint);
  // Counted as in ChooseResume, which estimates the time for that many bytes.
  const size_t bytes =
      point.checkpoint.bytes + prefix.size() * pool_->engine().traits().kv_bytes_per_token;
  const double begin_ms = pool_->NowMs();
  const size_t shared = CommonPrefix(slot->tokens(), prefix);
  const CheckpointCache::PinnedPath& segments = *pins.segments;
  std::vector<SegmentPart> parts;
  for (size_t i = 0; i < segments.parts.size(); ++i) {
    parts.push_back({segments.parts[i].begin, segments.parts[i].end, {}, [this, &segments, i] {
                       return pool_->cache().LoadPart(segments, i);
                     }});
  }
  Status assembled =
      SlotAssembly(slot, prefix, segments.provenance).AtOnce(shared, parts, snapshot);
  if (!assembled) return assembled;
  assembled_bytes_.Add(static_cast<double>(bytes), pool_->NowMs() - begin_ms);
  ++pool_->counters().assembled;
  return {};
}

size_t Restorer::BytesInParts(const SlotNeeds& needs, const ResumePath& path) const {
  const MemoryTraits& traits = pool_->engine().traits();
  const bool in_parts = path.point.kind == ResumePoint::Kind::kAssemble &&
                        path.source == ResumePath::Source::kOwn && traits.one_buffer;
  if (!in_parts) return 0;
  return (path.point.position - HeldTokens(needs, path.slot)) * traits.kv_bytes_per_token;
}

std::optional<Restorer::Filling> Restorer::BeginFilling(const SlotNeeds& needs) {
  if (!MayReuse()) return std::nullopt;
  Filling filling;
  filling.path = Choose(needs);
  // In parts takes longer, and pays where answers would wait, or where memory cannot hold the path.
  const size_t bytes = BytesInParts(needs, filling.path);
  const double bytes_per_ms = assembled_bytes_.units_per_ms();
  const bool is_slow = bytes_per_ms > 0 && static_cast<double>(bytes) > kAtOnceMsMax * bytes_per_ms;
  if (!is_slow && bytes <= pool_->cache().loader().bytes_max()) return std::nullopt;
  const ResumePoint& point = filling.path.point;
  const TokenSpan prefix = needs.prompt.first(point.position);
  auto segments = pool_->cache().PinPath(needs.name_space, prefix, point.checkpoint.lineage);
  if (!segments) return std::nullopt;
  filling.slot = filling.path.slot;
  filling.name_space = needs.name_space;
  filling.segments = *std::move(segments);
  filling.had_tokens = HeldTokens(needs, filling.slot);
  // Pinned before anything is stored, which may evict.
  std::vector<uint64_t> ids;
  for (const CheckpointCache::PinnedPath::Part& part : filling.segments.parts) {
    if (part.end > filling.had_tokens) ids.push_back(part.id);
  }
  if (point.checkpoint.id != 0) ids.push_back(point.checkpoint.id);
  DiskLoader& loader = pool_->cache().loader();
  filling.load = loader.Begin(ids, DiskLoader::Kind::kStreams);
  pool_->NextTick();
  pool_->Use(filling.slot);
  Slot& slot = pool_->slot(filling.slot);
  const size_t lost = LostTokens(slot, needs.name_space, needs.prompt, needs.keeps_answer);
  if (StoringPays(slot, lost)) offloader_->Offload(&slot);
  MakeRoom(needs, filling.path);
  const double begin_ms = pool_->NowMs();
  if (slot.name_space() != needs.name_space) slot.Clear(needs.name_space);
  slot.BeginLineage(pool_->NextLineage());
  std::vector<SegmentPart> ranges;
  for (const CheckpointCache::PinnedPath::Part& part : filling.segments.parts)
    ranges.push_back({part.begin, part.end});
  filling.assembly.emplace(&slot, prefix, filling.segments.provenance);
  filling.next = filling.assembly->Begin(CommonPrefix(slot.tokens(), prefix), ranges);
  UnpinParts(filling, 0, filling.next);
  for (size_t i = 0; i < filling.next; ++i) {
    loader.Used(filling.load, filling.segments.parts[i].id);
  }
  filling.ms = pool_->NowMs() - begin_ms;
  return filling;
}

bool Restorer::CanFill(const Filling& filling) const {
  const auto& parts = filling.segments.parts;
  const CheckpointId checkpoint = filling.path.point.checkpoint.id;
  const uint64_t id = filling.next < parts.size() ? parts[filling.next].id : checkpoint;
  return id == 0 || !pool_->cache().loader().IsToRead(filling.load, id);
}

Restorer::Filled Restorer::Fill(Filling* filling) {
  TraceSpan span(pool_->options().trace, "resume");
  span.Add("slot", filling->slot);
  const double begin_ms = pool_->NowMs();
  if (filling->next < filling->segments.parts.size()) {
    const CheckpointCache::PinnedPath::Part part = filling->segments.parts[filling->next];
    const auto load = [&] { return pool_->cache().LoadPart(filling->segments, filling->next); };
    if (Status added = filling->assembly->Add({part.begin, part.end, {}, load}); !added) {
      return FailFilling(filling, added.error());
    }
    const double ms = pool_->NowMs() - begin_ms;
    assembled_bytes_.Add(static_cast<double>(part.bytes), ms);
    filling->ms += ms;
    UnpinParts(*filling, filling->next, filling->next + 1);
    ++filling->next;
    pool_->cache().loader().Used(filling->load, part.id);
    return Filled::kMore;
  }
  const Checkpoint& checkpoint = filling->path.point.checkpoint;
  Pins pins;
  if (checkpoint.id != 0) {
    const auto snapshot = pool_->cache().Pin(checkpoint.id);
    if (!snapshot) return FailFilling(filling, snapshot.error());
    pins.from_disk = pool_->cache().loader().FromDisk(checkpoint.id);
    pins.snapshot = *snapshot;
  }
  pins.segments = filling->segments;
  const Status ended = filling->assembly->End(WithoutLogits(pins.snapshot, checkpoint));
  if (ended) filling->report = Report(filling->path, pins, filling->had_tokens);
  if (checkpoint.id != 0) pool_->cache().Unpin(checkpoint.id);
  if (!ended) return FailFilling(filling, ended.error());
  filling->ms += pool_->NowMs() - begin_ms;
  filling->report.restore_ms = filling->ms;
  ++pool_->counters().assembled;
  pool_->cache().loader().End(filling->load);
  pool_->Release(filling->slot);
  return Filled::kDone;
}

Restorer::Filled Restorer::FailFilling(Filling* filling, const Error& error) {
  ++pool_->counters().failed;
  EndFilling(*filling);
  // As in ResumeAnyhow.
  if (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kNotFound)
    return Filled::kFailed;
  Pins pins;
  pins.segments = filling->segments;
  Discard(filling->path, pins);
  return Filled::kFailed;
}

void Restorer::EndFilling(const Filling& filling) {
  // A part that could not be read is removed when nothing pins it any more.
  pool_->cache().loader().End(filling.load);
  UnpinParts(filling, filling.next, filling.segments.parts.size());
  pool_->slot(filling.slot).Clear(filling.name_space);
  pool_->Release(filling.slot);
}

void Restorer::UnpinParts(const Filling& filling, size_t begin, size_t end) {
  const auto first = filling.segments.parts.begin();
  CheckpointCache::PinnedPath parts;
  parts.parts.assign(first + static_cast<std::ptrdiff_t>(begin),
                     first + static_cast<std::ptrdiff_t>(end));
  pool_->cache().UnpinPath(parts);
}

double Restorer::PrefillMs(size_t tokens) const {
  const double ms_per_token = prefill_ms_per_token();
  return static_cast<double>(tokens) * (ms_per_token > 0 ? ms_per_token : 1);
}

void Restorer::ObservePrefill(size_t tokens, double ms) {
  prefilled_tokens_.Add(static_cast<double>(tokens), ms);
}

ResumeRules Restorer::Rules(const SlotNeeds& needs) const {
  const MemoryTraits& traits = pool_->engine().traits();
  ResumeRules rules;
  rules.mode = pool_->options().mode;
  rules.cuts = PromptCuts(pool_->options().cuts, needs.prompt);
  rules.leave_grid = pool_->options().leave_grid;
  rules.needs_snapshots = traits.NeedsSnapshots();
  rules.snapshot_needs_slot = traits.memory_class != MemoryClass::kRecurrent;
  rules.segments = traits.segments;
  rules.kv_bytes_per_token = traits.kv_bytes_per_token;
  rules.assemble_bytes_per_prefill_token = assembled_bytes_per_prefill_token();
  rules.in_answer = needs.in_answer;
  rules.turn_tokens_max = TurnTokensMax(rules.mode, rules.needs_snapshots, rules.cuts.grid_tokens(),
                                        pool_->engine().chunk_tokens_max());
  const bool may_resume_in_runs =
      rules.mode == ReuseMode::kLive && rules.segments && !rules.needs_snapshots && needs.reuse;
  if (may_resume_in_runs) rules.run = pool_->cache().StoredRunOf(*needs.match);
  return rules;
}

std::optional<Restorer::Pins> Restorer::Pin(const SlotNeeds& needs, const ResumePath& path) {
  Pins pins;
  const ResumePoint& point = path.point;
  ResumePath pinned = path;
  pinned.full_state = nullptr;
  pinned.point.checkpoint.id = 0;
  if (point.checkpoint.id != 0) {
    const auto snapshot = pool_->cache().Pin(point.checkpoint.id);
    if (!snapshot) return std::nullopt;
    pins.from_disk = pool_->cache().loader().FromDisk(point.checkpoint.id);
    pins.snapshot = *snapshot;
    pinned.point.checkpoint.id = point.checkpoint.id;
  }
  if (path.full_state != nullptr) {
    const auto whole = pool_->cache().Pin(path.full_state->id);
    if (!whole) {
      Unpin(pinned, pins);
      return std::nullopt;
    }
    pins.from_disk = pins.from_disk || pool_->cache().loader().FromDisk(path.full_state->id);
    pins.full_state = *whole;
  }
  if (point.kind != ResumePoint::Kind::kAssemble) return pins;
  auto segments = pool_->cache().PinPath(needs.name_space, needs.prompt.first(point.position),
                                         point.checkpoint.lineage);
  if (!segments) {
    Unpin(pinned, pins);
    return std::nullopt;
  }
  pins.segments = std::move(*segments);
  return pins;
}

void Restorer::Unpin(const ResumePath& path, const Pins& pins) {
  if (path.point.checkpoint.id != 0) pool_->cache().Unpin(path.point.checkpoint.id);
  if (path.full_state != nullptr) pool_->cache().Unpin(path.full_state->id);
  if (pins.segments) pool_->cache().UnpinPath(*pins.segments);
}

void Restorer::Discard(const ResumePath& path, const Pins& pins) {
  if (path.point.checkpoint.id != 0) pool_->cache().Discard(path.point.checkpoint.id);
  if (path.full_state != nullptr) pool_->cache().Discard(path.full_state->id);
  if (pins.segments) pool_->cache().DiscardPath(*pins.segments);
}

Status Restorer::Follow(const SlotNeeds& needs, const ResumePath& path, const Pins& pins) {
  Slot& slot = pool_->slot(path.slot);
  const TokenSpan prefix = needs.prompt.first(path.point.position);
  switch (path.source) {
    case ResumePath::Source::kOwn:
      if (slot.name_space() != needs.name_space) slot.Clear(needs.name_space);
      return FollowInSlot(&slot, prefix, path.point, pins);
    case ResumePath::Source::kFork: {
      const ByteSpan snapshot = WithoutLogits(pins.snapshot, path.point.checkpoint);
      const Slot& lender = pool_->slot(path.from);
      if (Status forked = slot.Fork(lender, prefix.size(), snapshot); !forked) return forked;
      ++pool_->counters().forked;
      return {};
    }
    case ResumePath::Source::kFullState:
      if (Status set = slot.SetFullState(*path.full_state, pins.full_state); !set) return set;
      ++pool_->counters().full_states_set;
      return FollowInSlot(&slot, prefix, path.point, pins);
  }
  return {};
}

Status Restorer::FollowInSlot(Slot* slot, TokenSpan prefix, const ResumePoint& point,
                              const Pins& pins) {
  const ByteSpan snapshot = WithoutLogits(pins.snapshot, point.checkpoint);
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
      ++pool_->counters().checkpoints_restored;
      return {};
    case ResumePoint::Kind::kAssemble:
      return Assemble(slot, prefix, point, pins);
  }
  return {};
}

ReuseReport Restorer::Report(const ResumePath& path, const Pins& pins, size_t had_tokens) const {
  const Checkpoint& checkpoint = path.point.checkpoint;
  ReuseReport report;
  report.path = PathOf(path);
  report.reused_tokens = path.point.position;
  report.restored_bytes = pins.snapshot.size() + pins.full_state.size();
  if (checkpoint.id != 0) {
    ReuseReport::UsedCheckpoint used{checkpoint.position, checkpoint.checkpoint_class};
    if (checkpoint.created_ms >= 0) used.age_ms = pool_->NowMs() - checkpoint.created_ms;
    report.checkpoint = used;
  }
  size_t from_disk = 0;
  size_t from_ram = 0;
  if (pins.segments) {
    for (const CheckpointCache::PinnedPath::Part& part : pins.segments->parts) {
      const size_t begin = std::max(part.begin, had_tokens);
      const size_t end = std::min(part.end, path.point.position);
      if (begin >= end) continue;
      report.restored_bytes += part.bytes;
      (part.from_disk ? from_disk : from_ram) += end - begin;
    }
  }
  // The state at the end is needed by all tokens before it, so its tier counts for all.
  const bool has_state = !pins.snapshot.empty() || !pins.full_state.empty();
  if (has_state && pins.from_disk) {
    from_disk = path.point.position;
    from_ram = 0;
  } else if (has_state) {
    from_ram = path.point.position - from_disk;
  }
  report.disk_tokens = from_disk;
  report.ram_tokens = from_ram;
  report.live_tokens = path.point.position - from_disk - from_ram;
  return report;
}

}  // namespace cairn
