#include "cache/checkpoint_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// One prompt's checkpoints may take so much of the budget: a quarter.
constexpr size_t kPromptShare = 4;

// What the minimum step never leaves out: without these the next turn reads everything again.
bool AlwaysKept(const Placement& placement, const std::vector<Placement>& all) {
  switch (placement.checkpoint_class) {
    case CheckpointClass::kPrompt:
    case CheckpointClass::kLadder:
    case CheckpointClass::kMark:
    case CheckpointClass::kQuery:
      return true;
    case CheckpointClass::kTurn:
      return std::none_of(all.begin(), all.end(), [&](const Placement& other) {
        return other.checkpoint_class == CheckpointClass::kTurn &&
               other.position > placement.position;
      });
    default:
      return false;
  }
}

}  // namespace

CheckpointCache::CheckpointCache(const CacheOptions& options,
                                 std::unique_ptr<PlacementPolicy> placement,
                                 std::unique_ptr<EvictionPolicy> eviction,
                                 std::unique_ptr<SnapshotStore> store)
    : options_(options),
      budget_(options.ram_bytes_max),
      placement_(std::move(placement)),
      eviction_(std::move(eviction)),
      store_(std::move(store)) {}

CheckpointCache::MatchResult CheckpointCache::Match(NamespaceId name_space,
                                                    TokenSpan prompt) const {
  MatchResult result;
  result.stored_on_grid = segments_.StoredTo(name_space, prompt);
  result.wholes = wholes_.Sharing(name_space, prompt);
  const PrefixTree::MatchResult match = tree_.Match(name_space, prompt);
  result.shared = match.shared;
  for (const PrefixTree::Hit& hit : match.hits) {
    const Entry& entry = EntryOf(hit.value);
    Checkpoint checkpoint = entry.checkpoint;
    checkpoint.kv_stored = entry.holder != 0;
    result.checkpoints.push_back(checkpoint);
  }
  if (match.last == nullptr) return result;
  const Entry& end = EntryOf(PrefixTree::ValueOf(PrefixTree::LeafOf(match.last)));
  if (end.prompt_tokens >= match.shared) {
    result.neighbour_tokens = end.prompt_tokens;
    result.neighbour_turns = end.prompt_turns;
  }
  return result;
}

Tokens CheckpointCache::StoredNext(NamespaceId name_space, TokenSpan prompt,
                                   size_t tokens_max) const {
  const PrefixTree::MatchResult match = tree_.Match(name_space, prompt);
  if (match.last == nullptr) return {};
  Tokens next = PrefixTree::TokensFrom(PrefixTree::LeafOf(match.last), match.shared);
  if (next.size() > tokens_max) next.resize(tokens_max);
  return next;
}

std::vector<Placement> CheckpointCache::Plan(const PromptShape& shape, const MatchResult& match,
                                             const PlanInput& input) const {
  CHECK(input.grid_tokens > 0);
  PlacementInput asked{shape, input.chunk_tokens};
  asked.grid_tokens = input.grid_tokens;
  asked.read_to = input.read_to;
  asked.diverged_at = match.shared < shape.tokens ? match.shared : 0;
  asked.bytes_budget = budget_ / kPromptShare;
  asked.snapshot_bytes = input.snapshot_bytes;
  std::vector<size_t> held;
  for (const Checkpoint& checkpoint : match.checkpoints) held.push_back(checkpoint.position);
  asked.held = held;
  std::vector<Placement> wanted;
  placement_->Place(asked, &wanted);
  for (Placement& placement : wanted) placement.position -= placement.position % input.grid_tokens;
  std::erase_if(wanted, [&](const Placement& placement) {
    return placement.position <= input.read_to || placement.position >= shape.tokens;
  });
  // Where two policies name one place, the first one named it.
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Placement& a, const Placement& b) { return a.position < b.position; });
  std::vector<Placement> planned;
  size_t last = input.read_to;
  for (const Placement& placement : wanted) {
    if (!planned.empty() && planned.back().position == placement.position) continue;
    if (placement.position - last < options_.min_step_tokens && !AlwaysKept(placement, wanted)) {
      continue;
    }
    planned.push_back(placement);
    last = placement.position;
  }
  return planned;
}

void CheckpointCache::Learn(const PromptShape& shape, const MatchResult& match) {
  if (match.neighbour_tokens == 0) return;
  placement_->Learn(DescribeDivergence(shape, std::min(match.shared, match.neighbour_tokens),
                                       match.neighbour_tokens, match.neighbour_turns));
}

bool CheckpointCache::Holds(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const {
  const PrefixTree::Node* node = tree_.Find(name_space, prefix);
  if (node == nullptr) return false;
  const Checkpoint& held = EntryOf(PrefixTree::ValueOf(node)).checkpoint;
  return held.lineage == lineage && held.logits_bytes == 0;
}

Result<CheckpointId> CheckpointCache::Insert(NamespaceId name_space, TokenSpan prefix,
                                             Checkpoint what, Bytes snapshot) {
  Entry entry;
  if (const PrefixTree::Node* node = tree_.Find(name_space, prefix)) {
    const Entry& held = EntryOf(PrefixTree::ValueOf(node));
    const bool better = held.checkpoint.on_grid() && what.lineage != 0 && held.holder != 0;
    if (held.pins > 0 || better) return held.checkpoint.id;
    entry.keep_ms = held.keep_ms;
    entry.kept_until_ms = held.kept_until_ms;
    Drop(held.checkpoint.id);
    ++stats_.replaced;
  }
  what.bytes = store_->BytesFor(snapshot);
  // For what no empty cache could hold, nothing is given up.
  if (what.bytes + PrefixTree::BytesOf(prefix.size()) > budget_) {
    return RefuseRoom();
  }
  what.id = ++last_id_;
  what.position = prefix.size();
  what.created_ms = now_ms_;
  // The tokens first: then room is made for just those that others do not hold already.
  const PrefixTree::Node* node = tree_.Put(name_space, prefix, what.id);
  query_incoming_ = what.checkpoint_class == CheckpointClass::kQuery;
  const Status put = StoreBytes(what.id, std::move(snapshot));
  query_incoming_ = false;
  if (!put) {
    tree_.Erase(node);
    return tl::unexpected(put.error());
  }
  entry.checkpoint = what;
  entry.name_space = name_space;
  entry.node = node;
  entry.created_tick = entry.used_tick = ++tick_;
  entry.last_query = what.checkpoint_class == CheckpointClass::kQuery;
  NotePrompt(&entry);
  SetHolder(&entry, segments_.HolderOf(name_space, prefix, what.lineage));
  entries_.emplace(what.id, entry);
  if (IsKept(entry)) marked_.insert(what.id);
  ++stats_.inserted;
  RetireAncestors(entry);
  KeepPathShort(entry);
  return what.id;
}

void CheckpointCache::NotePrompt(Entry* entry) const {
  if (entry->checkpoint.turns > 0) {
    entry->prompt_tokens = entry->checkpoint.position;
    entry->prompt_turns = entry->checkpoint.turns;
  } else if (const PrefixTree::Node* above = PrefixTree::AncestorOf(entry->node)) {
    const Entry& ancestor = EntryOf(PrefixTree::ValueOf(above));
    entry->prompt_tokens = ancestor.prompt_tokens;
    entry->prompt_turns = ancestor.prompt_turns;
  }
}

void CheckpointCache::RetireAncestors(const Entry& entry) {
  const bool is_end = entry.checkpoint.logits_bytes > 0;
  const PrefixTree::Node* node = PrefixTree::AncestorOf(entry.node);
  while (node != nullptr) {
    const PrefixTree::Node* above = PrefixTree::AncestorOf(node);
    Entry& ancestor = EntryOf(PrefixTree::ValueOf(node));
    if (entry.last_query) ancestor.last_query = false;
    if (is_end && ancestor.checkpoint.logits_bytes > 0 && ancestor.pins == 0) {
      Drop(ancestor.checkpoint.id);
      ++stats_.outgrown;
    }
    node = above;
  }
}

void CheckpointCache::KeepPathShort(const Entry& entry) {
  if (options_.path_checkpoints_max == 0) return;
  std::vector<EvictionCandidate> candidates;
  size_t on_path = 1;
  for (const PrefixTree::Node* node = PrefixTree::AncestorOf(entry.node); node != nullptr;
       node = PrefixTree::AncestorOf(node)) {
    ++on_path;
    const Entry& ancestor = EntryOf(PrefixTree::ValueOf(node));
    if (ancestor.pins == 0) candidates.push_back(CandidateOf(ancestor));
  }
  if (on_path <= options_.path_checkpoints_max || candidates.empty()) return;
  const std::optional<size_t> victim = eviction_->Victim(candidates);
  if (!victim) return;
  Drop(candidates[*victim].id);
  ++stats_.evicted;
  ++stats_.path_full;
}

Result<ByteSpan> CheckpointCache::Pin(CheckpointId id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return Fail(ErrorCode::kNotFound, "the checkpoint was given up");
  auto bytes = store_->Get(id);
  if (!bytes) {
    Drop(id);
    ++stats_.lost;
    return bytes;
  }
  store_->Use(id);
  found->second.used_tick = ++tick_;
  ++found->second.uses;
  ++found->second.pins;
  if (IsKept(found->second)) found->second.kept_until_ms = now_ms_ + found->second.keep_ms;
  return bytes;
}

void CheckpointCache::Unpin(CheckpointId id) {
  Entry& entry = EntryOf(id);
  CHECK(entry.pins > 0);
  if (--entry.pins == 0) store_->Unload(id);
}

void CheckpointCache::Discard(CheckpointId id) {
  Drop(id);
  ++stats_.discarded;
}

void CheckpointCache::SetHolder(Entry* entry, SegmentId holder) {
  const CheckpointId id = entry->checkpoint.id;
  if (entry->holder != 0) std::erase(segments_.Get(entry->holder).checkpoints, id);
  entry->holder = holder;
  if (holder != 0) segments_.Get(holder).checkpoints.push_back(id);
}

void CheckpointCache::SetNow(double now_ms) {
  CHECK(now_ms >= now_ms_);
  now_ms_ = now_ms;
}

bool CheckpointCache::Keep(NamespaceId name_space, TokenSpan prefix, double keep_ms) {
  const PrefixTree::Node* node = tree_.Find(name_space, prefix);
  if (node == nullptr) return false;
  Entry& entry = EntryOf(PrefixTree::ValueOf(node));
  size_t bytes = KeptBytes(entry);
  for (const CheckpointId id : marked_) {
    const Entry& other = EntryOf(id);
    if (IsKept(other) && id != entry.checkpoint.id) bytes += KeptBytes(other);
  }
  if (bytes > budget_ / 2) {
    ++stats_.keeps_refused;
    return false;
  }
  marked_.insert(entry.checkpoint.id);
  entry.keep_ms = keep_ms;
  entry.kept_until_ms = std::max(entry.kept_until_ms, now_ms_ + keep_ms);
  return true;
}

std::vector<SegmentGap> CheckpointCache::MissingSegments(NamespaceId name_space, TokenSpan tokens,
                                                         const Provenance& provenance) const {
  return CutInto(segments_.Gaps(name_space, tokens, provenance), options_.segment_tokens_max);
}

Status CheckpointCache::InsertSegment(NamespaceId name_space, TokenSpan tokens,
                                      const Provenance& provenance, const SegmentGap& gap,
                                      Bytes bytes) {
  const auto parent = segments_.ParentFor(name_space, tokens, provenance, gap);
  if (!parent) return Fail(ErrorCode::kNotFound, "what comes before the segment is not stored");
  const size_t token_bytes =
      gap.lineage == 0 ? PrefixTree::BytesOf(gap.end) : (gap.end - gap.begin) * sizeof(Token);
  SegmentIndex::Segment segment;
  segment.bytes = store_->BytesFor(bytes);
  if (segment.bytes + token_bytes > budget_) return RefuseRoom();
  segment.id = ++last_id_;
  segment.name_space = name_space;
  segment.range = gap;
  segment.parent = *parent;
  segment.created_tick = segment.used_tick = ++tick_;
  // Its place in the tree first, as in Insert. It must not be what goes for its own bytes; what it
  // begins in stays because it is there.
  segment.pins = 1;
  const SegmentId id = segment.id;
  segments_.Add(std::move(segment), tokens, provenance);
  Status put = StoreBytes(id, std::move(bytes));
  segments_.Get(id).pins = 0;
  if (!put) {
    segments_.Remove(id);
    return put;
  }
  ++stats_.inserted;
  HoldCheckpoints(segments_.Get(id), tokens);
  return {};
}

void CheckpointCache::HoldCheckpoints(const SegmentIndex::Segment& segment, TokenSpan tokens) {
  const SegmentGap range = segment.range;
  const auto match = tree_.Match(segment.name_space, tokens.first(range.end));
  for (const PrefixTree::Hit& hit : match.hits) {
    Entry& entry = EntryOf(hit.value);
    if (hit.position > range.begin && entry.checkpoint.lineage == range.lineage) {
      SetHolder(&entry, segment.id);
    }
  }
}

Status CheckpointCache::StoreBytes(uint64_t id, Bytes bytes) {
  try {
    if (!MakeRoom(store_->BytesFor(bytes))) return RefuseRoom();
    Status put = store_->Put(id, std::move(bytes));
    if (!put) ++stats_.refused;
    return put;
  } catch (const std::bad_alloc&) {
    // Its place is there already, and must go again.
    store_->Erase(id);
    return RefuseRoom();
  }
}

tl::unexpected<Error> CheckpointCache::RefuseRoom() {
  ++stats_.refused;
  return Fail(ErrorCode::kNoSpace, "it does not fit the cache's budget");
}

Result<CheckpointCache::PinnedPath> CheckpointCache::PinPath(NamespaceId name_space,
                                                             TokenSpan prefix, LineageId lineage) {
  const auto links = segments_.PathTo(name_space, prefix, lineage);
  if (links.empty()) return Fail(ErrorCode::kNotFound, "the attention KV is not stored");
  PinnedPath path;
  for (const SegmentIndex::Link& link : links) {
    const size_t bytes = segments_.Get(link.id).bytes;
    path.parts.push_back({link.begin, link.end, bytes, link.id, !InMemory(link.id)});
    store_->Use(link.id);
  }
  ++tick_;
  for (const SegmentIndex::Link& link : links) {
    SegmentIndex::Segment& segment = segments_.Get(link.id);
    segment.used_tick = tick_;
    ++segment.uses;
    ++segment.pins;
  }
  path.provenance = segments_.ProvenanceOf(links);
  return path;
}

Result<ByteSpan> CheckpointCache::LoadPart(const PinnedPath& path, size_t index) {
  if (loaded_part_ != 0) store_->Unload(std::exchange(loaded_part_, 0));
  const SegmentId id = path.parts[index].id;
  auto bytes = store_->Get(id);
  if (!bytes) {
    unreadable_parts_.insert(id);
    return Fail(ErrorCode::kNotFound, "a segment's bytes are gone");
  }
  loaded_part_ = id;
  return bytes;
}

void CheckpointCache::UnpinPath(const PinnedPath& path) {
  if (loaded_part_ != 0) store_->Unload(std::exchange(loaded_part_, 0));
  for (const PinnedPath::Part& part : path.parts) {
    SegmentIndex::Segment& segment = segments_.Get(part.id);
    CHECK(segment.pins > 0);
    --segment.pins;
  }
  for (const PinnedPath::Part& part : path.parts) {
    if (unreadable_parts_.erase(part.id) > 0) Lose(part.id);
  }
}

void CheckpointCache::DiscardPath(const PinnedPath& path) {
  const SegmentId id = path.parts.back().id;
  if (!segments_.segments().contains(id)) return;
  const SegmentIndex::Segment& last = segments_.Get(id);
  if (last.children > 0 || last.pins > 0) return;
  DropSegment(last.id);
  ++stats_.discarded;
}

Status CheckpointCache::InsertWhole(NamespaceId name_space, TokenSpan tokens,
                                    const Provenance& provenance, Bytes bytes) {
  WholeState whole;
  whole.name_space = name_space;
  whole.tokens.assign(tokens.begin(), tokens.end());
  whole.provenance = provenance;
  whole.bytes = store_->BytesFor(bytes);
  for (const WholeId outgrown : wholes_.Within(whole)) {
    DropWhole(outgrown);
    ++stats_.outgrown;
  }
  if (whole.bytes + tokens.size_bytes() > budget_) return RefuseRoom();
  const WholeId id = whole.id = ++last_id_;
  whole.created_tick = whole.used_tick = ++tick_;
  // It must not be what goes for its own bytes.
  whole.pins = 1;
  wholes_.Add(std::move(whole));
  Status put = StoreBytes(id, std::move(bytes));
  wholes_.Get(id).pins = 0;
  if (!put) {
    wholes_.Remove(id);
    return put;
  }
  ++stats_.inserted;
  return {};
}

Result<ByteSpan> CheckpointCache::PinWhole(WholeId id) {
  if (!wholes_.Holds(id)) return Fail(ErrorCode::kNotFound, "the slot's content was given up");
  auto bytes = store_->Get(id);
  if (!bytes) {
    DropWhole(id);
    ++stats_.lost;
    return bytes;
  }
  store_->Use(id);
  WholeState& whole = wholes_.Get(id);
  whole.used_tick = ++tick_;
  ++whole.uses;
  ++whole.pins;
  return bytes;
}

void CheckpointCache::UnpinWhole(WholeId id) {
  WholeState& whole = wholes_.Get(id);
  CHECK(whole.pins > 0);
  if (--whole.pins == 0) store_->Unload(id);
}

void CheckpointCache::DiscardWhole(WholeId id) {
  DropWhole(id);
  ++stats_.discarded;
}

const CheckpointCache::Entry& CheckpointCache::EntryOf(CheckpointId id) const {
  const auto found = entries_.find(id);
  CHECK(found != entries_.end());
  return found->second;
}

CheckpointCache::Entry& CheckpointCache::EntryOf(CheckpointId id) {
  return const_cast<Entry&>(std::as_const(*this).EntryOf(id));
}

// Gives things up until `bytes` more fit.
bool CheckpointCache::MakeRoom(size_t bytes) {
  if (HeldBytes() + bytes <= budget_) return true;
  const Ids in_slots = InSlots();
  while (HeldBytes() + bytes > budget_) {
    // What is saved can be read again, which costs next to nothing beside reading its tokens.
    if (!ReleaseSome(in_slots, bytes) && !EvictSome(in_slots, bytes)) return false;
  }
  return true;
}

size_t CheckpointCache::SetBudget(size_t bytes_max) {
  const size_t before = HeldBytes();
  offers_again_ = offers_again_ || bytes_max > budget_;
  budget_ = bytes_max;
  if (!MakeRoom(0)) budget_ = HeldBytes();  // the rest is in use
  return before - std::min(before, HeldBytes());
}

size_t CheckpointCache::GoAtOnce(const std::vector<EvictionCandidate>& candidates,
                                 size_t bytes) const {
  size_t candidate_bytes = candidates.size();  // no less than one each
  for (const EvictionCandidate& candidate : candidates) candidate_bytes += candidate.bytes;
  const size_t wanted = HeldBytes() + bytes;
  const size_t over = wanted - std::min(wanted, budget_);
  // Some are skipped, and some are smaller than the others.
  const size_t enough = 1 + 2 * (over / (candidate_bytes / candidates.size()));
  return std::clamp<size_t>(enough, 1, std::max<size_t>(1, candidates.size() / 8));
}

bool CheckpointCache::EvictSome(const Ids& in_slots, size_t bytes) {
  FindCandidates(in_slots);
  const std::vector<EvictionCandidate>& candidates = candidates_;
  if (candidates.empty()) return false;
  bool any = false;
  for (const size_t victim : eviction_->Victims(candidates, GoAtOnce(candidates, bytes))) {
    if (HeldBytes() + bytes <= budget_) break;
    if (any && !IsAsRanked(candidates[victim], in_slots)) continue;
    GiveUp(candidates[victim]);
    any = true;
  }
  return any;
}

void CheckpointCache::GiveUp(const EvictionCandidate& candidate) {
  // Of what a slot holds too this is a copy, which is made again when the slot lets go.
  if (!candidate.in_slot && SaveInstead(candidate.id)) return;
  switch (candidate.kind) {
    case CandidateKind::kSnapshot:
      Drop(candidate.id);
      break;
    case CandidateKind::kSegment:
      DropSegment(candidate.id);
      break;
    case CandidateKind::kWhole:
      DropWhole(candidate.id);
      break;
  }
  ++stats_.evicted;
}

void CheckpointCache::Drop(CheckpointId id) {
  Entry& entry = EntryOf(id);
  CHECK(entry.pins == 0);
  SetHolder(&entry, 0);
  tree_.Erase(entry.node);
  store_->Erase(id);
  marked_.erase(id);
  entries_.erase(id);
}

void CheckpointCache::DropSegment(SegmentId id) {
  const std::vector<CheckpointId> held = segments_.Get(id).checkpoints;
  for (const CheckpointId checkpoint_id : held) {
    Entry& entry = EntryOf(checkpoint_id);
    SetHolder(&entry, 0);
    // Where a model needs no snapshots, a checkpoint off the grid is nothing but its segments.
    if (entry.checkpoint.bytes == 0 && entry.pins == 0) Drop(checkpoint_id);
  }
  segments_.Remove(id);
  store_->Erase(id);
}

void CheckpointCache::DropWhole(WholeId id) {
  wholes_.Remove(id);
  store_->Erase(id);
}

void CheckpointCache::CheckInvariants() const {
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
      const Entry& entry = EntryOf(checkpoint_id);
      CHECK(entry.holder == id);
      CHECK(entry.checkpoint.position > segment.range.begin);
      CHECK(entry.checkpoint.position <= segment.range.end);
    }
  }
  CHECK(held == 0);
  for (const auto& [id, whole] : wholes_.wholes()) bytes += InMemory(id) ? whole.bytes : 0;
  CHECK(bytes == store_->bytes());
  CHECK(HeldBytes() <= budget_);
}

}  // namespace cairn
