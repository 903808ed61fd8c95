// What the cache saves beyond this process, and what it takes in that was saved.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cache/checkpoint_cache.h"

namespace cairn {
namespace {

// Classes are weighed against each other; this makes probabilities of them: one in two for a reply
// or a prompt that came last.
constexpr double kLikelihood = 1.0 / 8;
// So much reading must be likely to be spared for each MiB that is written: writing and reading it
// again take about that long on a plain SSD, and its cells wear.
constexpr double kWorthMsPerMib = 2;
constexpr double kMib = 1 << 20;
// Objects whose beginning is not there yet, or for which there was no room: no more of them, and of
// their tokens, are remembered.
constexpr size_t kWaitingMax = 10000;
constexpr size_t kWaitingBytesMax = size_t{64} << 20;

double LikelyMs(CheckpointClass checkpoint_class, size_t tokens, double prefill_ms_per_token) {
  return ClassWeight(checkpoint_class) * kLikelihood * static_cast<double>(tokens) *
         prefill_ms_per_token;
}

bool IsWorth(double worth_ms, size_t bytes) {
  return worth_ms >= kWorthMsPerMib * static_cast<double>(bytes) / kMib;
}

}  // namespace

bool CheckpointCache::InMemory(uint64_t id) const {
  return !saves() || store_->PlaceOf(id) != SnapshotStore::Place::kSavedOnly;
}

bool CheckpointCache::MayDrop(uint64_t id) const {
  if (!saves()) return true;
  const SnapshotStore::Place place = store_->PlaceOf(id);
  return place == SnapshotStore::Place::kUnsaved || place == SnapshotStore::Place::kRefused;
}

bool CheckpointCache::ReleaseSome(const Ids& in_slots, size_t bytes) {
  if (!saves()) return false;
  // What is still on its way costs memory until it has arrived, so it goes last.
  for (const auto place : {SnapshotStore::Place::kBoth, SnapshotStore::Place::kSaving}) {
    std::vector<EvictionCandidate> candidates;
    for (const auto& [id, entry] : entries_) {
      if (entry.pins == 0 && entry.checkpoint.bytes > 0 && store_->PlaceOf(id) == place) {
        candidates.push_back(CandidateOf(entry));
      }
    }
    for (const auto& [id, segment] : segments_.segments()) {
      if (segment.pins == 0 && store_->PlaceOf(id) == place) {
        candidates.push_back(CandidateOf(segment, in_slots));
      }
    }
    for (const auto& [id, whole] : wholes_.wholes()) {
      if (whole.pins == 0 && store_->PlaceOf(id) == place) candidates.push_back(CandidateOf(whole));
    }
    if (candidates.empty()) continue;
    bool any = false;
    for (const size_t victim : eviction_->Victims(candidates, GoAtOnce(candidates, bytes))) {
      if (any && HeldBytes() + bytes <= budget_) break;
      store_->Release(candidates[victim].id);
      ++stats_.released;
      any = true;
    }
    return any;
  }
  return false;
}

void CheckpointCache::Lose(uint64_t id) {
  if (const auto entry = entries_.find(id); entry != entries_.end()) {
    if (entry->second.pins > 0) return;  // it was read before it went
    Drop(id);
  } else if (segments_.segments().contains(id)) {
    const std::vector<SegmentId> subtree = segments_.Subtree(id);
    const bool in_use = std::any_of(subtree.begin(), subtree.end(), [this](const SegmentId below) {
      return segments_.Get(below).pins > 0;
    });
    if (in_use) return;
    for (const SegmentId below : subtree) DropSegment(below);
  } else if (wholes_.Holds(id)) {
    if (wholes_.Get(id).pins > 0) return;
    DropWhole(id);
  } else {
    return;
  }
  ++stats_.lost;
}

void CheckpointCache::TakeNews() {
  if (!saves()) return;
  SnapshotStore::News news = store_->TakeNews();
  for (const SnapshotId id : news.lost) Lose(id);
  if (news.found.empty() && !std::exchange(offers_again_, false)) return;
  std::move(news.found.begin(), news.found.end(), std::back_inserter(waiting_));
  // What begins in another may have been found before it.
  bool more = true;
  while (more) {
    more = false;
    std::erase_if(waiting_, [&](const ObjectHeader& header) {
      const TakenIn taken = TakeIn(header);
      more = more || taken == TakenIn::kDone;
      return taken != TakenIn::kParentMissing && taken != TakenIn::kNoRoom;
    });
  }
  KeepFewWaiting();
}

// The newest stay.
void CheckpointCache::KeepFewWaiting() {
  size_t bytes = 0;
  size_t kept = 0;
  while (kept < std::min(waiting_.size(), kWaitingMax)) {
    bytes += waiting_[waiting_.size() - 1 - kept].tokens.size() * sizeof(Token);
    if (bytes > kWaitingBytesMax) break;
    ++kept;
  }
  waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(kept));
}

std::optional<NamespaceId> CheckpointCache::NameSpaceNamed(uint64_t name) const {
  for (const auto& [name_space, known] : saved_as_.name_spaces) {
    if (known == name) return name_space;
  }
  return std::nullopt;
}

std::optional<uint64_t> CheckpointCache::NameOf(NamespaceId name_space) const {
  for (const auto& [known, name] : saved_as_.name_spaces) {
    if (known == name_space) return name;
  }
  return std::nullopt;
}

CheckpointCache::TakenIn CheckpointCache::TakeIn(const ObjectHeader& header) {
  const auto name_space = NameSpaceNamed(header.name_space);
  if (!name_space || header.tokens.empty()) return TakenIn::kUseless;
  if (header.fingerprint != saved_as_.fingerprint) return TakenIn::kUseless;
  // The folder may have told of it twice: found, gone, and found again.
  if (store_->Find(cairn::NameOf(header))) return TakenIn::kUseless;
  // The tokens it is found by count too. What is on the disk anyway leaves memory for them; nothing
  // unsaved does.
  const size_t token_bytes = PrefixTree::BytesOf(header.tokens.size());
  if (token_bytes > budget_) return TakenIn::kUseless;
  while (HeldBytes() + token_bytes > budget_) {
    if (!ReleaseSome({}, token_bytes)) return TakenIn::kNoRoom;
  }
  TakenIn taken = TakenIn::kUseless;
  switch (header.kind) {
    case ObjectKind::kSnapshot:
      taken = TakeInSnapshot(*name_space, header);
      break;
    case ObjectKind::kSegment:
      taken = TakeInSegment(*name_space, header);
      break;
    case ObjectKind::kWhole:
      taken = TakeInWhole(*name_space, header);
      break;
  }
  if (taken == TakenIn::kDone) ++stats_.taken_in;
  return taken;
}

CheckpointCache::TakenIn CheckpointCache::SavedByOthers(uint64_t id, const ObjectHeader& header) {
  if (IsUnsaved(id)) store_->Adopt(id, cairn::NameOf(header));
  return TakenIn::kUseless;
}

CheckpointCache::TakenIn CheckpointCache::TakeInSnapshot(NamespaceId name_space,
                                                         const ObjectHeader& header) {
  const auto checkpoint_class = ParseCheckpointClass(header.checkpoint_class);
  if (!checkpoint_class || header.logits_bytes > header.raw_bytes) return TakenIn::kUseless;
  if (const PrefixTree::Node* node = tree_.Find(name_space, header.tokens)) {
    const Checkpoint& held = EntryOf(PrefixTree::ValueOf(node)).checkpoint;
    const bool same = held.lineage == header.lineage && held.logits_bytes == header.logits_bytes;
    return same ? SavedByOthers(held.id, header) : TakenIn::kUseless;
  }
  Entry entry;
  Checkpoint& checkpoint = entry.checkpoint;
  checkpoint.id = ++last_id_;
  checkpoint.position = header.tokens.size();
  checkpoint.checkpoint_class = *checkpoint_class;
  checkpoint.bytes = header.raw_bytes;
  checkpoint.lineage = header.lineage;
  checkpoint.logits_bytes = header.logits_bytes;
  checkpoint.cold_end = header.cold_end;
  checkpoint.turns = header.turns;
  entry.name_space = name_space;
  entry.node = tree_.Put(name_space, header.tokens, checkpoint.id);
  entry.created_tick = entry.used_tick = ++tick_;
  NotePrompt(&entry);
  SetHolder(&entry, segments_.HolderOf(name_space, header.tokens, header.lineage));
  store_->Adopt(checkpoint.id, cairn::NameOf(header));
  entries_.emplace(checkpoint.id, entry);
  return TakenIn::kDone;
}

CheckpointCache::TakenIn CheckpointCache::TakeInSegment(NamespaceId name_space,
                                                        const ObjectHeader& header) {
  const TokenSpan tokens = header.tokens;
  const SegmentGap range = {header.begin, tokens.size(), header.lineage};
  if (range.begin >= range.end) return TakenIn::kUseless;
  if (range.lineage == 0) {
    const SegmentId held = segments_.EndsAt(name_space, tokens);
    if (held != 0) {
      const bool same = segments_.Get(held).range == range;
      return same ? SavedByOthers(held, header) : TakenIn::kUseless;
    }
  } else if (const size_t end = segments_.RunEnd(range.lineage); end != 0 && end != range.begin) {
    const SegmentId held = segments_.HolderOf(name_space, tokens, range.lineage);
    const bool same = held != 0 && segments_.Get(held).range == range;
    return same ? SavedByOthers(held, header) : TakenIn::kUseless;
  }
  SegmentIndex::Segment segment;
  if (range.begin > 0) {
    const auto named = store_->Find(header.parent);
    if (!named || !segments_.segments().contains(*named)) return TakenIn::kParentMissing;
    // Found by name, but only tokens decide.
    const LineageId lineage = segments_.Get(*named).range.lineage;
    segment.parent = segments_.HolderOf(name_space, tokens.first(range.begin), lineage);
    if (segment.parent == 0) return TakenIn::kUseless;
  }
  segment.id = ++last_id_;
  segment.name_space = name_space;
  segment.range = range;
  segment.bytes = header.raw_bytes;
  segment.created_tick = segment.used_tick = ++tick_;
  const SegmentId id = segment.id;
  Provenance provenance;
  provenance.answers = header.answers;
  segments_.Add(std::move(segment), tokens, provenance);
  store_->Adopt(id, cairn::NameOf(header));
  HoldCheckpoints(segments_.Get(id), tokens);
  return TakenIn::kDone;
}

CheckpointCache::TakenIn CheckpointCache::TakeInWhole(NamespaceId name_space,
                                                      const ObjectHeader& header) {
  WholeState whole;
  whole.id = ++last_id_;
  whole.name_space = name_space;
  whole.tokens = header.tokens;
  whole.provenance = {header.clean, header.runs, header.answers};
  whole.bytes = header.raw_bytes;
  whole.created_tick = whole.used_tick = ++tick_;
  store_->Adopt(whole.id, cairn::NameOf(header));
  wholes_.Add(std::move(whole));
  return TakenIn::kDone;
}

CheckpointCache::SaveStep CheckpointCache::SaveNext(double prefill_ms_per_token) {
  SaveStep step;
  if (!saves()) return step;
  prefill_ms_per_token_ = prefill_ms_per_token;
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

bool CheckpointCache::SaveFirst(const Unsaved& wanted) {
  const uint64_t id = FirstUnsaved(wanted.id);
  auto header = HeaderOf(id);
  if (!header) return false;
  header->worth_ms = wanted.worth_ms;
  return store_->Save(id, *header);
}

bool CheckpointCache::SaveInstead(uint64_t id) {
  if (!saves()) return false;
  const std::optional<Unsaved> wanted = WorthOf(id);
  if (!wanted) return false;
  while (IsUnsaved(id)) {
    if (!SaveFirst(*wanted)) return false;
  }
  if (MayDrop(id)) return false;
  store_->Release(id);
  ++stats_.released;
  return true;
}

std::vector<CheckpointCache::Unsaved> CheckpointCache::WorthSaving() const {
  std::vector<Unsaved> wanted;
  for (const auto& [id, entry] : entries_) {
    if (const auto unsaved = Worth(entry)) wanted.push_back(*unsaved);
  }
  for (const auto& [id, segment] : segments_.segments()) {
    if (const auto unsaved = WorthAlone(segment)) wanted.push_back(*unsaved);
  }
  for (const auto& [id, whole] : wholes_.wholes()) {
    if (const auto unsaved = Worth(whole)) wanted.push_back(*unsaved);
  }
  return wanted;
}

std::optional<CheckpointCache::Unsaved> CheckpointCache::WorthOf(uint64_t id) const {
  if (const auto entry = entries_.find(id); entry != entries_.end()) return Worth(entry->second);
  if (wholes_.Holds(id)) return Worth(wholes_.wholes().at(id));
  const SegmentIndex::Segment& segment = segments_.Get(id);
  std::optional<Unsaved> best = WorthAlone(segment);
  for (const CheckpointId standing : segment.checkpoints) {
    const auto unsaved = Worth(EntryOf(standing));
    if (unsaved && (!best || unsaved->worth_ms > best->worth_ms)) best = unsaved;
  }
  if (best) best->id = id;
  return best;
}

// On the grid, attention KV leads somewhere without a snapshot where the model needs none.
std::optional<CheckpointCache::Unsaved> CheckpointCache::WorthAlone(
    const SegmentIndex::Segment& segment) const {
  const bool alone = !slots_.needs_snapshots && segment.range.lineage == 0;
  if (!alone || !IsUnsaved(segment.id) || !NameOf(segment.name_space)) return std::nullopt;
  if (!UnsavedBytesTo(segment.id)) return std::nullopt;
  const size_t tokens = segment.range.end - segment.range.begin;
  const double worth_ms = LikelyMs(CheckpointClass::kReply, tokens, prefill_ms_per_token_);
  if (!IsWorth(worth_ms, segment.bytes)) return std::nullopt;
  return Unsaved{segment.id, worth_ms, segment.bytes};
}

std::optional<CheckpointCache::Unsaved> CheckpointCache::Worth(const WholeState& whole) const {
  if (!IsUnsaved(whole.id) || !NameOf(whole.name_space)) return std::nullopt;
  const double worth_ms =
      LikelyMs(CheckpointClass::kReply, whole.tokens.size(), prefill_ms_per_token_);
  if (!IsWorth(worth_ms, whole.bytes)) return std::nullopt;
  return Unsaved{whole.id, worth_ms, whole.bytes};
}

std::optional<CheckpointCache::Unsaved> CheckpointCache::Worth(const Entry& entry) const {
  const Checkpoint& checkpoint = entry.checkpoint;
  if (!IsUnsaved(checkpoint.id) || !NameOf(entry.name_space)) return std::nullopt;
  // A slot has its attention KV, and nobody else; it comes when the slot is not in use.
  if (slots_.snapshots_need_kv && entry.holder == 0) return std::nullopt;
  size_t saved_position = 0;
  const PrefixTree::Node* above = PrefixTree::AncestorOf(entry.node);
  for (; above != nullptr; above = PrefixTree::AncestorOf(above)) {
    // What room is being made for stands in the tree already.
    if (!entries_.contains(PrefixTree::ValueOf(above))) continue;
    const SnapshotStore::Place place = store_->PlaceOf(PrefixTree::ValueOf(above));
    if (place == SnapshotStore::Place::kUnsaved || place == SnapshotStore::Place::kRefused) {
      continue;
    }
    saved_position = PrefixTree::PositionOf(above);
    break;
  }
  Unsaved unsaved;
  unsaved.id = checkpoint.id;
  unsaved.bytes = checkpoint.bytes;
  const std::optional<size_t> before = UnsavedBytesTo(entry.holder);
  if (!before) return std::nullopt;
  unsaved.bytes += *before;
  unsaved.worth_ms = LikelyMs(checkpoint.checkpoint_class, checkpoint.position - saved_position,
                              prefill_ms_per_token_);
  if (!IsWorth(unsaved.worth_ms, unsaved.bytes)) return std::nullopt;
  return unsaved;
}

std::optional<size_t> CheckpointCache::UnsavedBytesTo(SegmentId segment) const {
  size_t bytes = 0;
  for (SegmentId id = segment; id != 0; id = segments_.Get(id).parent) {
    const SnapshotStore::Place place = store_->PlaceOf(id);
    // Without it nothing after it leads anywhere.
    if (place == SnapshotStore::Place::kRefused) return std::nullopt;
    if (place == SnapshotStore::Place::kUnsaved) bytes += segments_.Get(id).bytes;
  }
  return bytes;
}

uint64_t CheckpointCache::FirstUnsaved(uint64_t id) const {
  SegmentId segment = 0;
  if (const auto entry = entries_.find(id); entry != entries_.end()) segment = entry->second.holder;
  if (segments_.segments().contains(id)) segment = segments_.Get(id).parent;
  uint64_t first = id;
  for (; segment != 0; segment = segments_.Get(segment).parent) {
    if (IsUnsaved(segment)) first = segment;
  }
  return first;
}

std::optional<ObjectHeader> CheckpointCache::HeaderOf(uint64_t id) const {
  ObjectHeader header;
  header.fingerprint = saved_as_.fingerprint;
  NamespaceId name_space = 0;
  if (const auto found = entries_.find(id); found != entries_.end()) {
    const Checkpoint& checkpoint = found->second.checkpoint;
    name_space = found->second.name_space;
    header.kind = ObjectKind::kSnapshot;
    header.tokens = PrefixTree::TokensOf(found->second.node);
    header.lineage = checkpoint.lineage;
    header.checkpoint_class = static_cast<uint8_t>(checkpoint.checkpoint_class);
    header.cold_end = checkpoint.cold_end;
    header.logits_bytes = checkpoint.logits_bytes;
    header.turns = checkpoint.turns;
  } else if (segments_.segments().contains(id)) {
    const SegmentIndex::Segment& segment = segments_.Get(id);
    name_space = segment.name_space;
    header.kind = ObjectKind::kSegment;
    header.tokens = segments_.TokensOf(id);
    header.begin = segment.range.begin;
    header.lineage = segment.range.lineage;
    header.answers = segment.answers;
    if (segment.parent != 0) {
      header.parent = store_->NameOf(segment.parent);
      if (header.parent.empty()) return std::nullopt;
    }
  } else {
    const WholeState& whole = wholes_.wholes().at(id);
    name_space = whole.name_space;
    header.kind = ObjectKind::kWhole;
    header.tokens = whole.tokens;
    header.clean = whole.provenance.clean;
    header.runs = whole.provenance.runs;
    header.answers = whole.provenance.answers;
    header.lineage = whole.provenance.LineageAt(whole.tokens.size());
  }
  const auto name = NameOf(name_space);
  if (!name) return std::nullopt;
  header.name_space = *name;
  return header;
}

}  // namespace cairn
