#include "cache/disk/disk_saver.h"

#include <algorithm>

namespace cairn {
namespace {

// Converts class weights, which are only relative, to probabilities: one in two for a reply or a
// prompt that came last.
constexpr double kLikelihood = 1.0 / 8;
// The prefill time in milliseconds that must likely be spared for each MiB written: writing and
// reading it again take about that long on a plain SSD, and its cells wear.
constexpr double kWorthMsPerMib = 2;
constexpr double kMib = 1 << 20;
// The last state of a conversation is worth so many times as much when it leaves memory: a next
// turn would for certain prefill again the tokens that it spares.
constexpr double kLastStateWorth = 2;
// A prompt of one turn leaves this share of the weight of those before it.
constexpr double kTurnsKept = 1 - 1.0 / 128;
// Snapshots are the larger part of what is written, and the next turns make most of them worthless.
// So one must spare so many times as much …
constexpr double kSnapshotShare = 8;
// … or weigh no more than this share of the attention KV since the saved one before it, which keeps
// what is written near one and a half times the KV of the tokens
// (docs/decisions/0054-memory-and-disk-as-one-cache.md).
constexpr double kSnapshotKvShare = 0.4;

double LikelyMs(CheckpointClass checkpoint_class, size_t tokens, double prefill_ms_per_token) {
  return ClassWeight(checkpoint_class) * kLikelihood * static_cast<double>(tokens) *
         prefill_ms_per_token;
}

bool IsWorth(double worth_ms, size_t bytes) {
  return worth_ms >= kWorthMsPerMib * static_cast<double>(bytes) / kMib;
}

}  // namespace

DiskSaver::Step DiskSaver::SaveNext(double prefill_ms_per_token, bool last) {
  Step step;
  if (!table_->store().saves()) return step;
  prefill_ms_per_token_ = prefill_ms_per_token;
  last_ = last;
  const std::vector<Unsaved> wanted = WorthSaving();
  const Unsaved* best = nullptr;
  for (const Unsaved& one : wanted) {
    step.bytes_left += one.bytes;
    const auto rank = [](const Unsaved& of) {
      return of.worth_ms / static_cast<double>(std::max<size_t>(of.bytes, 1));
    };
    if (best == nullptr || rank(one) > rank(*best)) best = &one;
  }
  if (best == nullptr) return step;
  step.began = SaveFirst(*best);
  return step;
}

bool DiskSaver::SaveFirst(const Unsaved& wanted) {
  const uint64_t id = FirstUnsaved(wanted.id);
  auto header = HeaderOf(id);
  if (!header) return false;
  header->worth_ms = wanted.worth_ms;
  return table_->store().Save(id, *header);
}

std::optional<size_t> DiskSaver::BytesToSave(const EvictionCandidate& candidate) const {
  if (!table_->store().saves()) return std::nullopt;
  const std::optional<Unsaved> wanted = WorthOf(candidate);
  if (!wanted) return std::nullopt;
  // The objects before it are written first, and one after the other.
  const uint64_t first = FirstUnsaved(wanted->id);
  if (!table_->store().MaySave(BytesOf(*table_, first))) return std::nullopt;
  return wanted->bytes;
}

bool DiskSaver::SaveInstead(const EvictionCandidate& candidate) {
  const uint64_t id = candidate.id;
  if (!table_->store().saves()) return false;
  const std::optional<Unsaved> wanted = WorthOf(candidate);
  if (!wanted) return false;
  bool any = false;
  while (IsUnsaved(*table_, id)) {
    // The objects saved so far leave memory before this one is asked for again.
    if (!SaveFirst(*wanted)) return any;
    any = true;
  }
  if (table_->MayDrop(id)) return false;
  table_->store().Release(id);
  table_->changes().Note(id);
  ++table_->stats().released;
  return true;
}

void DiskSaver::Learn(size_t turns) {
  if (turns == 2) ++second_turns_;
  if (turns > 1) return;
  first_turns_ = kTurnsKept * first_turns_ + 1;
  second_turns_ *= kTurnsKept;
}

double DiskSaver::LikelyGoesOn(const CheckpointEntry& entry) const {
  const size_t answers = entry.checkpoint.answers;
  if (answers == 0 || PrefixTree::DescendantOf(entry.node) != nullptr) return 0;
  return answers > 1 ? 1 : std::min(1.0, second_turns_ / first_turns_);
}

bool DiskSaver::IsInPassing(const CheckpointEntry& entry) const {
  const Checkpoint& checkpoint = entry.checkpoint;
  const bool shared = checkpoint.checkpoint_class == CheckpointClass::kHeader ||
                      checkpoint.checkpoint_class == CheckpointClass::kMark ||
                      checkpoint.checkpoint_class == CheckpointClass::kBranch ||
                      PrefixTree::BranchesOf(entry.node) > 1;
  if (shared) return false;
  if (entry.passed) return true;
  const PrefixTree::Node* const below = PrefixTree::DescendantOf(entry.node);
  if (entry.last_query || below == nullptr) return false;
  // With --reuse exact nothing resumes off the grid.
  const auto next = table_->entries().find(PrefixTree::ValueOf(below));
  return !checkpoint.on_grid() ||
         (next != table_->entries().end() && next->second.checkpoint.on_grid());
}

std::vector<DiskSaver::Unsaved> DiskSaver::WorthSaving() const {
  std::vector<Unsaved> wanted;
  for (const auto& [id, entry] : table_->entries()) {
    if (!last_ && IsInPassing(entry)) continue;
    if (const auto unsaved = Worth(entry, false)) wanted.push_back(*unsaved);
  }
  for (const auto& [id, segment] : table_->segments().segments()) {
    if (const auto unsaved = WorthAlone(segment)) wanted.push_back(*unsaved);
  }
  for (const auto& [id, whole] : table_->full_states().full_states()) {
    if (const auto unsaved = Worth(whole)) wanted.push_back(*unsaved);
  }
  return wanted;
}

std::optional<DiskSaver::Unsaved> DiskSaver::WorthOf(const EvictionCandidate& candidate) const {
  const uint64_t id = candidate.id;
  if (candidate.kind == CandidateKind::kSnapshot) return Worth(table_->EntryOf(id), true);
  if (candidate.kind == CandidateKind::kFullState)
    return Worth(table_->full_states().full_states().at(id));
  const SegmentIndex::Segment& segment = table_->segments().Get(id);
  if (!IsUnsaved(*table_, id) || !table_->saved_as().NameOf(segment.name_space))
    return std::nullopt;
  const std::optional<size_t> bytes = UnsavedBytesTo(id);
  if (!bytes) return std::nullopt;
  // The segments before it that are not saved go with it, and spare their prefill too.
  const size_t begin = table_->segments().Get(FirstUnsaved(id)).range.begin;
  const size_t tokens = candidate.recompute_tokens + segment.range.begin - begin;
  const double worth_ms = LikelyMs(candidate.checkpoint_class, tokens, prefill_ms_per_token_);
  if (!IsWorth(worth_ms, *bytes)) return std::nullopt;
  return Unsaved{id, worth_ms, *bytes};
}

// Segments on the grid can be resumed from without a snapshot if the model needs none.
std::optional<DiskSaver::Unsaved> DiskSaver::WorthAlone(
    const SegmentIndex::Segment& segment) const {
  const bool alone = !table_->slots().needs_snapshots && segment.range.lineage == 0;
  if (!alone || !IsUnsaved(*table_, segment.id) || !table_->saved_as().NameOf(segment.name_space))
    return std::nullopt;
  if (!UnsavedBytesTo(segment.id)) return std::nullopt;
  const size_t tokens = segment.range.end - segment.range.begin;
  const double worth_ms = LikelyMs(CheckpointClass::kReply, tokens, prefill_ms_per_token_);
  if (!IsWorth(worth_ms, segment.bytes)) return std::nullopt;
  return Unsaved{segment.id, worth_ms, segment.bytes};
}

std::optional<DiskSaver::Unsaved> DiskSaver::Worth(const FullState& whole) const {
  if (!IsUnsaved(*table_, whole.id) || !table_->saved_as().NameOf(whole.name_space))
    return std::nullopt;
  const double worth_ms =
      LikelyMs(CheckpointClass::kReply, whole.tokens.size(), prefill_ms_per_token_);
  if (!IsWorth(worth_ms, whole.bytes)) return std::nullopt;
  return Unsaved{whole.id, worth_ms, whole.bytes};
}

std::optional<DiskSaver::Unsaved> DiskSaver::Worth(const CheckpointEntry& entry,
                                                   bool leaving) const {
  const Checkpoint& checkpoint = entry.checkpoint;
  if (!IsUnsaved(*table_, checkpoint.id) || !table_->saved_as().NameOf(entry.name_space))
    return std::nullopt;
  // Only a slot holds its attention KV; the KV is stored once the slot is not in use.
  if (table_->slots().snapshots_need_kv && entry.holder == 0 && !leaving) return std::nullopt;
  const std::optional<size_t> before = UnsavedBytesTo(entry.holder);
  if (!before) return std::nullopt;
  const Unsaved unsaved{checkpoint.id, WorthMs(entry), checkpoint.bytes + *before};
  const double last_state_ms =
      leaving ? kLastStateWorth * LikelyGoesOn(entry) * unsaved.worth_ms : 0;
  if (IsWorth(last_state_ms, unsaved.bytes)) return unsaved;
  if (!PaysItsWrite(entry, unsaved)) return std::nullopt;
  return unsaved;
}

double DiskSaver::WorthMs(const CheckpointEntry& entry) const {
  return LikelyMs(entry.checkpoint.checkpoint_class,
                  entry.checkpoint.position - SavedPositionBefore(entry), prefill_ms_per_token_);
}

size_t DiskSaver::SavedPositionBefore(const CheckpointEntry& entry) const {
  const PrefixTree::Node* above = PrefixTree::AncestorOf(entry.node);
  for (; above != nullptr; above = PrefixTree::AncestorOf(above)) {
    // The object that room is being made for is in the tree already.
    if (!table_->entries().contains(PrefixTree::ValueOf(above))) continue;
    const SnapshotStore::Place place = table_->store().PlaceOf(PrefixTree::ValueOf(above));
    if (place == SnapshotStore::Place::kUnsaved || place == SnapshotStore::Place::kRefused) {
      continue;
    }
    return PrefixTree::PositionOf(above);
  }
  return 0;
}

bool DiskSaver::PaysItsWrite(const CheckpointEntry& entry, const Unsaved& unsaved) const {
  if (!IsWorth(unsaved.worth_ms, unsaved.bytes)) return false;
  if (last_ || IsWorth(unsaved.worth_ms / kSnapshotShare, unsaved.bytes)) return true;
  const size_t tokens = entry.checkpoint.position - SavedPositionBefore(entry);
  const auto kv_bytes = static_cast<double>(tokens * table_->slots().kv_bytes_per_token);
  return static_cast<double>(entry.checkpoint.bytes) <= kSnapshotKvShare * kv_bytes;
}

std::optional<size_t> DiskSaver::UnsavedBytesTo(SegmentId segment) const {
  size_t bytes = 0;
  for (SegmentId id = segment; id != 0; id = table_->segments().Get(id).parent) {
    const SnapshotStore::Place place = table_->store().PlaceOf(id);
    // If a segment is refused, none of those after it can be used.
    if (place == SnapshotStore::Place::kRefused) return std::nullopt;
    if (place == SnapshotStore::Place::kUnsaved) bytes += table_->segments().Get(id).bytes;
  }
  return bytes;
}

uint64_t DiskSaver::FirstUnsaved(uint64_t id) const {
  SegmentId segment = 0;
  if (const auto entry = table_->entries().find(id); entry != table_->entries().end())
    segment = entry->second.holder;
  if (table_->segments().segments().contains(id)) segment = table_->segments().Get(id).parent;
  uint64_t first = id;
  for (; segment != 0; segment = table_->segments().Get(segment).parent) {
    if (IsUnsaved(*table_, segment)) first = segment;
  }
  return first;
}

std::optional<ObjectHeader> DiskSaver::HeaderOf(uint64_t id) const {
  ObjectHeader header;
  header.fingerprint = table_->saved_as().fingerprint;
  NamespaceId name_space = 0;
  if (const auto found = table_->entries().find(id); found != table_->entries().end()) {
    const Checkpoint& checkpoint = found->second.checkpoint;
    name_space = found->second.name_space;
    header.kind = ObjectKind::kSnapshot;
    header.tokens = PrefixTree::TokensOf(found->second.node);
    header.lineage = checkpoint.lineage;
    header.checkpoint_class = static_cast<uint8_t>(checkpoint.checkpoint_class);
    header.cold_end = checkpoint.cold_end;
    header.logits_bytes = checkpoint.logits_bytes;
    header.turns = checkpoint.turns;
  } else if (table_->segments().segments().contains(id)) {
    const SegmentIndex::Segment& segment = table_->segments().Get(id);
    name_space = segment.name_space;
    header.kind = ObjectKind::kSegment;
    header.tokens = table_->segments().TokensOf(id);
    header.begin = segment.range.begin;
    header.lineage = segment.range.lineage;
    header.answers = segment.answers;
    if (segment.parent != 0) {
      header.parent = table_->store().NameOf(segment.parent);
      if (header.parent.empty()) return std::nullopt;
    }
  } else {
    const FullState& whole = table_->full_states().full_states().at(id);
    name_space = whole.name_space;
    header.kind = ObjectKind::kFullState;
    header.tokens = whole.tokens;
    header.clean = whole.provenance.clean;
    header.runs = whole.provenance.runs;
    header.answers = whole.provenance.answers;
    header.lineage = whole.provenance.LineageAt(whole.tokens.size());
  }
  const auto name = table_->saved_as().NameOf(name_space);
  if (!name) return std::nullopt;
  header.name_space = *name;
  return header;
}

}  // namespace cairn
