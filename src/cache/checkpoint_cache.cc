#include "cache/checkpoint_cache.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cairn {
namespace {

// One prompt's checkpoints may take a quarter of the budget.
constexpr size_t kPromptShare = 4;
// The ends of two prompts that are less apart are those of one that grows in small steps.
constexpr size_t kEndsApartMin = 16;

// Placements that the minimum step never leaves out: without them the next turn prefills everything
// again.
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

// A checkpoint that is kept for longer was pinned by hand.
constexpr double kMarkMsMax = 366.0 * 24 * 3600 * 1000;

// Ends the protection of other checkpoints that clients' marks keep, until `entry` fits beside the
// rest into `bytes_max`. Each namespace with some has an equal share: one that has more loses what
// it used longest ago, to others, and to its own newer marks. Returns false if that is not enough.
bool MakeRoomToKeep(ObjectTable* table, const CheckpointEntry& entry, size_t bytes_max) {
  const size_t wanted = KeptBytes(entry);
  std::map<NamespaceId, size_t> bytes_of = {{entry.name_space, 0}};
  std::vector<CheckpointEntry*> kept;
  size_t bytes = wanted;
  for (const CheckpointId id : table->marked()) {
    CheckpointEntry& other = table->EntryOf(id);
    if (!table->IsKept(other) || id == entry.checkpoint.id) continue;
    bytes += KeptBytes(other);
    bytes_of[other.name_space] += KeptBytes(other);
    if (other.keep_ms <= kMarkMsMax) kept.push_back(&other);
  }
  const size_t share = bytes_max / bytes_of.size();
  const auto used_ms = [](const CheckpointEntry* other) {
    return other->kept_until_ms - other->keep_ms;
  };
  std::sort(kept.begin(), kept.end(), [&](const CheckpointEntry* a, const CheckpointEntry* b) {
    return std::pair(used_ms(a), a->checkpoint.id) < std::pair(used_ms(b), b->checkpoint.id);
  });
  std::vector<CheckpointEntry*> ended;
  for (CheckpointEntry* other : kept) {
    if (bytes <= bytes_max) break;
    const bool own = other->name_space == entry.name_space;
    size_t* const held = &bytes_of[other->name_space];
    if (own ? *held + wanted <= share : *held <= share) continue;
    *held -= KeptBytes(*other);
    bytes -= KeptBytes(*other);
    ended.push_back(other);
  }
  if (bytes > bytes_max) return false;
  for (CheckpointEntry* other : ended) other->kept_until_ms = 0;
  return true;
}

}  // namespace

CheckpointCache::CheckpointCache(const CacheOptions& options,
                                 std::unique_ptr<PlacementPolicy> placement,
                                 std::unique_ptr<EvictionPolicy> eviction,
                                 std::unique_ptr<SnapshotStore> store)
    : options_(options),
      placement_(std::move(placement)),
      table_(std::move(store)),
      saver_(&table_),
      evictor_(&table_, &saver_, std::move(eviction), options.ram_bytes_max,
               options.path_checkpoints_max),
      loader_(&table_, &evictor_),
      intake_(&table_, &evictor_, &loader_) {}

CheckpointCache::MatchResult CheckpointCache::Match(NamespaceId name_space,
                                                    TokenSpan prompt) const {
  MatchResult result;
  result.stored_on_grid = table_.segments().StoredTo(name_space, prompt);
  result.full_states = table_.full_states().Sharing(name_space, prompt);
  const PrefixTree::MatchResult match = table_.tree().Match(name_space, prompt);
  result.shared = BeforeMedium(prompt, match.shared);
  for (const PrefixTree::Hit& hit : match.hits) {
    const CheckpointEntry& entry = table_.EntryOf(hit.value);
    Checkpoint checkpoint = entry.checkpoint;
    checkpoint.kv_stored = entry.holder != 0;
    result.checkpoints.push_back(checkpoint);
  }
  if (match.last == nullptr) return result;
  const CheckpointEntry& end = table_.EntryOf(PrefixTree::ValueOf(PrefixTree::LeafOf(match.last)));
  result.nearest = end.checkpoint.id;
  if (end.prompt_tokens >= match.shared) {
    result.neighbour_tokens = end.prompt_tokens;
    result.neighbour_turns = end.prompt_turns;
  }
  return result;
}

Tokens CheckpointCache::StoredNext(NamespaceId name_space, TokenSpan prompt,
                                   size_t tokens_max) const {
  const PrefixTree::MatchResult match = table_.tree().Match(name_space, prompt);
  if (match.last == nullptr) return {};
  return PrefixTree::TokensFrom(PrefixTree::LeafOf(match.last), match.shared, tokens_max);
}

std::vector<Placement> CheckpointCache::Plan(const PromptShape& shape, const MatchResult& match,
                                             const PlanInput& input) const {
  PlacementInput asked{shape, input.chunk_tokens};
  asked.cuts = input.cuts;
  asked.resumed_tokens = input.resumed_tokens;
  asked.diverged_at = match.shared < shape.tokens ? match.shared : 0;
  asked.bytes_budget = evictor_.budget_bytes() / kPromptShare;
  asked.snapshot_bytes = input.snapshot_bytes;
  std::vector<size_t> held;
  for (const Checkpoint& checkpoint : match.checkpoints) held.push_back(checkpoint.position);
  asked.held = held;
  std::vector<Placement> wanted;
  placement_->Place(asked, &wanted);
  return Thinned(std::move(wanted), shape, input);
}

std::vector<Placement> CheckpointCache::Thinned(std::vector<Placement> wanted,
                                                const PromptShape& shape,
                                                const PlanInput& input) const {
  for (Placement& placement : wanted)
    placement.position = input.cuts.AtOrBefore(placement.position);
  std::erase_if(wanted, [&](const Placement& placement) {
    return placement.position <= input.resumed_tokens || placement.position >= shape.tokens;
  });
  // If two policies name one position, the first one wins.
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Placement& a, const Placement& b) { return a.position < b.position; });
  std::vector<Placement> planned;
  size_t last = input.resumed_tokens;
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
  saver_.Learn(shape.turns.size());
  if (match.neighbour_tokens == 0) return;
  placement_->Learn(DescribeDivergence(shape, std::min(match.shared, match.neighbour_tokens),
                                       match.neighbour_tokens, match.neighbour_turns));
}

bool CheckpointCache::Holds(NamespaceId name_space, TokenSpan prefix, LineageId lineage) const {
  const PrefixTree::Node* node = table_.tree().Find(name_space, prefix);
  if (node == nullptr) return false;
  const Checkpoint& held = table_.EntryOf(PrefixTree::ValueOf(node)).checkpoint;
  return held.lineage == lineage && held.logits_bytes == 0;
}

Result<CheckpointId> CheckpointCache::Insert(NamespaceId name_space, TokenSpan prefix,
                                             Checkpoint what, Bytes snapshot) {
  CheckpointEntry entry;
  if (const PrefixTree::Node* node = table_.tree().Find(name_space, prefix)) {
    const CheckpointEntry& held = table_.EntryOf(PrefixTree::ValueOf(node));
    const bool better = held.checkpoint.on_grid() && what.lineage != 0 && held.holder != 0;
    if (held.pins > 0 || better) return held.checkpoint.id;
    entry.keep_ms = held.keep_ms;
    entry.kept_until_ms = held.kept_until_ms;
    table_.Drop(held.checkpoint.id);
    ++table_.stats().replaced;
  }
  what.bytes = table_.store().BytesFor(snapshot);
  // Evicts nothing for a snapshot that even an empty cache could not hold.
  if (what.bytes + PrefixTree::BytesOf(prefix.size()) > evictor_.budget_bytes()) {
    return evictor_.RefuseRoom();
  }
  what.id = table_.NextId();
  what.position = prefix.size();
  what.created_ms = table_.now_ms();
  // The tokens are stored first, so that room is only made for those that no other object holds
  // already.
  const PrefixTree::Node* node = table_.tree().Put(name_space, prefix, what.id);
  const bool is_query = what.checkpoint_class == CheckpointClass::kQuery;
  const Status put = evictor_.StoreBytes(what.id, std::move(snapshot), is_query);
  if (!put) {
    table_.tree().Erase(node);
    return tl::unexpected(put.error());
  }
  entry.checkpoint = what;
  entry.name_space = name_space;
  entry.node = node;
  entry.last_query = is_query;
  table_.AddEntry(entry, prefix);
  ++table_.stats().inserted;
  RetireAncestors(entry);
  evictor_.KeepPathShort(entry);
  return what.id;
}

void CheckpointCache::RetireAncestors(const CheckpointEntry& entry) {
  const bool is_end = entry.checkpoint.logits_bytes > 0;
  // The checkpoint behind the one that is looked at. Where that is an end too, an edit of the turn
  // between them needs the one before it: a client that writes answers anew leaves none at theirs.
  const Checkpoint* below = &entry.checkpoint;
  const PrefixTree::Node* node = PrefixTree::AncestorOf(entry.node);
  while (node != nullptr) {
    const PrefixTree::Node* above = PrefixTree::AncestorOf(node);
    CheckpointEntry& ancestor = table_.EntryOf(PrefixTree::ValueOf(node));
    if (entry.last_query) ancestor.last_query = false;
    const size_t turns = ancestor.checkpoint.turns;
    if (turns > 0 && turns < entry.checkpoint.turns) ancestor.passed = true;
    const Checkpoint& checkpoint = ancestor.checkpoint;
    const bool begins_turn = table_.slots().needs_snapshots && below->logits_bytes > 0 &&
                             below->position - checkpoint.position >= kEndsApartMin;
    if (is_end && checkpoint.logits_bytes > 0 && !begins_turn && ancestor.pins == 0) {
      table_.Drop(checkpoint.id);
      ++table_.stats().outgrown;
    } else {
      below = &checkpoint;
    }
    node = above;
  }
}

bool CheckpointCache::Keep(NamespaceId name_space, TokenSpan prefix, double keep_ms) {
  const PrefixTree::Node* node = table_.tree().Find(name_space, prefix);
  if (node == nullptr) return false;
  CheckpointEntry& entry = table_.EntryOf(PrefixTree::ValueOf(node));
  if (!MakeRoomToKeep(&table_, entry, evictor_.budget_bytes() / 2)) {
    ++table_.stats().keeps_refused;
    return false;
  }
  table_.marked().insert(entry.checkpoint.id);
  entry.keep_ms = keep_ms;
  entry.kept_until_ms = std::max(entry.kept_until_ms, table_.now_ms() + keep_ms);
  return true;
}

std::vector<SegmentGap> CheckpointCache::MissingSegments(NamespaceId name_space, TokenSpan tokens,
                                                         const Provenance& provenance,
                                                         const PromptCuts& cuts) const {
  return CutInto(table_.segments().Gaps(name_space, tokens, provenance, cuts),
                 SegmentTokensMax(table_, evictor_.budget_bytes(), options_.segment_tokens_max),
                 cuts);
}

Status CheckpointCache::InsertSegment(NamespaceId name_space, TokenSpan tokens,
                                      const Provenance& provenance, const SegmentGap& gap,
                                      Bytes bytes) {
  const auto parent = table_.segments().ParentFor(name_space, tokens, provenance, gap);
  if (!parent) return Fail(ErrorCode::kNotFound, "what comes before the segment is not stored");
  const size_t token_bytes =
      gap.lineage == 0 ? PrefixTree::BytesOf(gap.end) : (gap.end - gap.begin) * sizeof(Token);
  SegmentIndex::Segment segment;
  segment.bytes = table_.store().BytesFor(bytes);
  if (segment.bytes + token_bytes > evictor_.budget_bytes()) return evictor_.RefuseRoom();
  segment.id = table_.NextId();
  segment.name_space = name_space;
  segment.range = gap;
  segment.parent = *parent;
  segment.created_tick = segment.used_tick = table_.NextTick();
  // The segment is added first, as in Insert. The pin prevents its eviction while room is made for
  // its own bytes; its parent stays because it now has a child.
  segment.pins = 1;
  const SegmentId id = segment.id;
  table_.segments().Add(std::move(segment), tokens, provenance);
  Status put = evictor_.StoreBytes(id, std::move(bytes));
  table_.segments().Get(id).pins = 0;
  if (!put) {
    table_.segments().Remove(id);
    return put;
  }
  ++table_.stats().inserted;
  table_.LinkCheckpoints(table_.segments().Get(id), tokens);
  return {};
}

Result<CheckpointCache::PinnedPath> CheckpointCache::PinPath(NamespaceId name_space,
                                                             TokenSpan prefix, LineageId lineage) {
  const auto links = table_.segments().PathTo(name_space, prefix, lineage);
  if (links.empty()) return Fail(ErrorCode::kNotFound, "the attention KV is not stored");
  PinnedPath path;
  for (const SegmentIndex::Link& link : links) {
    const size_t bytes = table_.segments().Get(link.id).bytes;
    path.parts.push_back({link.begin, link.end, bytes, link.id, loader_.FromDisk(link.id)});
    table_.store().Use(link.id);
  }
  table_.NextTick();
  for (const SegmentIndex::Link& link : links) {
    SegmentIndex::Segment& segment = table_.segments().Get(link.id);
    segment.used_tick = table_.tick();
    segment.used_before_ns = 0;
    ++segment.uses;
    ++segment.pins;
  }
  path.provenance = table_.segments().ProvenanceOf(links);
  return path;
}

CheckpointCache::StoredRun CheckpointCache::StoredRunOf(const MatchResult& match) const {
  const auto found = table_.entries().find(match.nearest);
  if (found == table_.entries().end()) return {};
  const CheckpointEntry& leaf = found->second;
  if (leaf.holder == 0 || leaf.checkpoint.lineage == 0) return {};
  StoredRun run;
  run.tokens = std::min(match.shared, leaf.checkpoint.position);
  run.provenance = table_.segments().ProvenanceOf(
      table_.segments().PathFrom(leaf.holder, leaf.checkpoint.position));
  return run;
}

Result<ByteSpan> CheckpointCache::LoadPart(const PinnedPath& path, size_t index) {
  if (loaded_part_ != 0) table_.store().Unload(std::exchange(loaded_part_, 0));
  const SegmentId id = path.parts[index].id;
  auto bytes = table_.store().Get(id);
  if (!bytes) {
    unreadable_parts_.insert(id);
    return Fail(ErrorCode::kNotFound, "a segment's bytes are gone");
  }
  loaded_part_ = id;
  return bytes;
}

void CheckpointCache::UnpinPath(const PinnedPath& path) {
  if (loaded_part_ != 0) table_.store().Unload(std::exchange(loaded_part_, 0));
  for (const PinnedPath::Part& part : path.parts) {
    SegmentIndex::Segment& segment = table_.segments().Get(part.id);
    CHECK(segment.pins > 0);
    --segment.pins;
  }
  for (const PinnedPath::Part& part : path.parts) {
    if (unreadable_parts_.erase(part.id) > 0) table_.Lose(part.id);
  }
}

void CheckpointCache::DiscardPath(const PinnedPath& path) {
  const SegmentId id = path.parts.back().id;
  if (!table_.segments().segments().contains(id)) return;
  loader_.Forget(id);
  const SegmentIndex::Segment& last = table_.segments().Get(id);
  if (last.children > 0 || last.pins > 0) return;
  table_.DropSegment(last.id);
  ++table_.stats().discarded;
}

Status CheckpointCache::InsertFullState(NamespaceId name_space, TokenSpan tokens,
                                        const Provenance& provenance, Bytes bytes) {
  FullState whole;
  whole.name_space = name_space;
  whole.tokens.assign(tokens.begin(), tokens.end());
  whole.provenance = provenance;
  whole.bytes = table_.store().BytesFor(bytes);
  for (const FullStateId outgrown : table_.full_states().Within(whole)) {
    table_.DropFullState(outgrown);
    ++table_.stats().outgrown;
  }
  if (whole.bytes + tokens.size_bytes() > evictor_.budget_bytes()) return evictor_.RefuseRoom();
  const FullStateId id = whole.id = table_.NextId();
  whole.created_tick = whole.used_tick = table_.NextTick();
  // The pin prevents its eviction while room is made for its own bytes.
  whole.pins = 1;
  table_.full_states().Add(std::move(whole));
  Status put = evictor_.StoreBytes(id, std::move(bytes));
  table_.full_states().Get(id).pins = 0;
  if (!put) {
    table_.full_states().Remove(id);
    return put;
  }
  table_.changes().Note(id);
  ++table_.stats().inserted;
  return {};
}

Result<ByteSpan> CheckpointCache::Pin(uint64_t id) {
  CheckpointEntry* const entry = table_.FindEntry(id);
  if (entry == nullptr && !table_.full_states().Holds(id)) {
    return Fail(ErrorCode::kNotFound, "the object was evicted");
  }
  auto bytes = table_.store().Get(id);
  if (!bytes) {
    table_.Lose(id);
    return bytes;
  }
  table_.store().Use(id);
  const uint64_t tick = table_.NextTick();
  if (entry == nullptr) {
    FullState& whole = table_.full_states().Get(id);
    whole.used_tick = tick;
    whole.used_before_ns = 0;
    ++whole.uses;
    ++whole.pins;
    return bytes;
  }
  entry->used_tick = tick;
  entry->used_before_ns = 0;
  ++entry->uses;
  ++entry->pins;
  if (table_.IsKept(*entry)) entry->kept_until_ms = table_.now_ms() + entry->keep_ms;
  return bytes;
}

void CheckpointCache::Unpin(uint64_t id) {
  int& pins = PinsOf(&table_, id);
  CHECK(pins > 0);
  if (--pins == 0) table_.store().Unload(id);
}

void CheckpointCache::Discard(uint64_t id) {
  loader_.Forget(id);
  if (table_.FindEntry(id) != nullptr) {
    table_.Drop(id);
  } else {
    table_.DropFullState(id);
  }
  ++table_.stats().discarded;
}

size_t CheckpointCache::DropNameSpaces(const std::function<bool(NamespaceId name_space)>& is_gone) {
  std::vector<CheckpointId> checkpoints;
  for (const auto& [id, entry] : table_.entries()) {
    if (entry.pins == 0 && is_gone(entry.name_space)) checkpoints.push_back(id);
  }
  for (const CheckpointId id : checkpoints) table_.Drop(id);
  std::vector<FullStateId> full_states;
  for (const auto& [id, whole] : table_.full_states().full_states()) {
    if (whole.pins == 0 && is_gone(whole.name_space)) full_states.push_back(id);
  }
  for (const FullStateId id : full_states) table_.DropFullState(id);
  // The deepest first, because a segment that others begin in cannot be removed.
  std::vector<std::pair<size_t, SegmentId>> segments;
  for (const auto& [id, segment] : table_.segments().segments()) {
    if (is_gone(segment.name_space)) segments.emplace_back(segment.range.begin, id);
  }
  std::sort(segments.rbegin(), segments.rend());
  size_t dropped = checkpoints.size() + full_states.size();
  for (const auto& [begin, id] : segments) {
    const SegmentIndex::Segment& segment = table_.segments().Get(id);
    if (segment.pins > 0 || segment.children > 0) continue;
    table_.DropSegment(id);
    ++dropped;
  }
  return dropped;
}

void CheckpointCache::TakeEvents() {
  evictor_.KeepDiskReserve();
  uint64_t reads = 0;
  do {
    reads = loader_.reads();
    intake_.TakeEvents();
  } while (loader_.reads() != reads);  // the next ones may be at hand
}

size_t CheckpointCache::SetBudget(size_t bytes_max) {
  if (bytes_max > evictor_.budget_bytes()) intake_.OnMoreRoom();
  return evictor_.SetBudget(bytes_max);
}

CacheStats CheckpointCache::stats() const {
  CacheStats stats = table_.stats();
  stats.checkpoints = table_.entries().size();
  stats.segments = table_.segments().segments().size();
  stats.full_states = table_.full_states().full_states().size();
  stats.kept = static_cast<size_t>(
      std::count_if(table_.marked().begin(), table_.marked().end(),
                    [this](const CheckpointId id) { return table_.IsKept(table_.EntryOf(id)); }));
  stats.bytes = table_.HeldBytes();
  stats.bytes_max = evictor_.budget_bytes();
  stats.token_bytes = table_.TokenBytes();
  return stats;
}

CacheStats CheckpointCache::FullStats() const {
  CacheStats stats = this->stats();
  for (const auto& [id, entry] : table_.entries()) {
    const Checkpoint& checkpoint = entry.checkpoint;
    stats.checkpoints_held[checkpoint.checkpoint_class].Add(table_.InMemory(id), checkpoint.bytes);
  }
  for (const auto& [id, segment] : table_.segments().segments()) {
    stats.segments_held.Add(table_.InMemory(id), segment.bytes);
  }
  for (const auto& [id, whole] : table_.full_states().full_states()) {
    stats.full_states_held.Add(table_.InMemory(id), whole.bytes);
  }
  return stats;
}

void CheckpointCache::CheckInvariants() const {
  table_.CheckInvariants();
  CHECK(table_.HeldBytes() <= evictor_.budget_bytes());
}

}  // namespace cairn
