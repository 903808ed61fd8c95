#include "sched/upkeep/prefix_reporter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/tokens.h"

namespace cairn {
namespace {

// Ids of the cache's objects count up from 1.
constexpr uint64_t kSlotParts = std::numeric_limits<uint64_t>::max() - (uint64_t{1} << 32);

// Answers grow token by token, and are published block by block.
constexpr size_t kSlotStepTokens = 64;

Tokens TokensAfter(const SegmentIndex::Segment& segment, size_t begin) {
  return segment.node == nullptr ? segment.run_tokens : PrefixTree::TokensFrom(segment.node, begin);
}

}  // namespace

PrefixReporter::PrefixReporter(const Model* model, CheckpointCache* cache, const Clock* clock,
                               SlotPool* pool, bool exact, PrefixWatcher* watcher)
    : model_(model),
      table_(cache->objects()),
      clock_(clock),
      pool_(pool),
      exact_(exact),
      watcher_(watcher),
      slot_tokens_(pool->size()) {
  if (watcher_ == nullptr) return;
  ObjectChanges& changes = table_->changes();
  changes.Begin();
  for (const auto& [id, entry] : table_->entries()) changes.Note(id);
  for (const auto& [id, segment] : table_->segments().segments()) changes.Note(id);
  for (const auto& [id, whole] : table_->full_states().full_states()) changes.Note(id);
}

void PrefixReporter::StepWhileBusy() {
  if (watcher_ == nullptr) return;
  const double now_ms = clock_->NowMs();
  if (now_ms < reported_ms_ + kIntervalMs) return;
  reported_ms_ = now_ms;
  Report();
}

void PrefixReporter::Report() {
  if (watcher_ == nullptr || !MayReuse()) return;
  Changes changes;
  ReportCache(&changes);
  for (size_t slot = 0; slot < slot_tokens_.size(); ++slot) ReportSlot(slot, &changes);
  if (!changes.empty()) watcher_->OnChanges(std::move(changes));
}

bool PrefixReporter::MayReuse() const {
  return model_->traits().grid_tokens > 0 || !exact_;
}

void PrefixReporter::ReportCache(Changes* changes) {
  std::vector<const CheckpointEntry*> checkpoints;
  std::vector<uint64_t> gone;
  // Ascending, so a segment comes after its parent.
  for (const uint64_t id : table_->changes().Take()) {
    const auto& segments = table_->segments().segments();
    if (const CheckpointEntry* entry = table_->FindEntry(id)) {
      checkpoints.push_back(entry);
    } else if (const auto segment = segments.find(id); segment != segments.end()) {
      ReportSegment(segment->second, changes);
    } else if (table_->full_states().Holds(id)) {
      ReportFullState(table_->full_states().Get(id), changes);
    } else if (known_.contains(id)) {
      gone.push_back(id);
    }
  }
  // One may begin with the tokens of another.
  std::sort(checkpoints.begin(), checkpoints.end(), [](const auto* a, const auto* b) {
    return a->checkpoint.position < b->checkpoint.position;
  });
  for (const CheckpointEntry* entry : checkpoints) ReportCheckpoint(*entry, changes);
  ReportGone(std::move(gone), changes);
}

template <typename Fill>
void PrefixReporter::ReportPart(PrefixChange change, bool is_segment, const Fill& fill,
                                Changes* changes) {
  const auto [known, is_new] = known_.try_emplace(change.part);
  if (!is_new && known->second.base == change.base) {
    if (std::exchange(known->second.tier, change.tier) == change.tier) return;
    change.kind = PrefixChange::Kind::kMoved;
  } else {
    known->second = {change.base, change.tier, is_segment};
    fill(&change);
  }
  changes->push_back(std::move(change));
}

void PrefixReporter::ReportSegment(const SegmentIndex::Segment& segment, Changes* changes) {
  if (!model_->traits().segments) return;
  PrefixChange change;
  change.part = segment.id;
  change.tier = TierOf(segment.id);
  change.base = segment.parent;
  ReportPart(
      std::move(change), true,
      [&](PrefixChange* put) {
        put->begin = segment.range.begin;
        put->tokens = TokensAfter(segment, segment.range.begin);
        put->needs_base = segment.parent != 0;
        // Off the grid, the checkpoint at its end is what prompts resume from.
        put->resumable = !model_->traits().NeedsSnapshots() && segment.range.lineage == 0;
      },
      changes);
}

void PrefixReporter::ReportFullState(const FullState& whole, Changes* changes) {
  PrefixChange change;
  change.part = whole.id;
  change.tier = TierOf(whole.id);
  ReportPart(
      std::move(change), false,
      [&](PrefixChange* put) {
        const size_t tokens = ResumableTokens(whole.tokens.size(), whole.provenance);
        put->tokens.assign(whole.tokens.begin(),
                           whole.tokens.begin() + static_cast<ptrdiff_t>(tokens));
        put->resumable = true;
      },
      changes);
}

void PrefixReporter::ReportCheckpoint(const CheckpointEntry& entry, Changes* changes) {
  const MemoryTraits& traits = model_->traits();
  const Checkpoint& checkpoint = entry.checkpoint;
  const bool may_use = !exact_ || checkpoint.on_grid() || checkpoint.cold_end;
  PrefixChange change;
  change.part = checkpoint.id;
  change.tier = TierOf(checkpoint.id);
  if (traits.memory_class == MemoryClass::kRecurrent) {
    // The tokens may come from any checkpoint before it; the first one stays the base.
    const auto known = known_.find(checkpoint.id);
    const PrefixTree::Node* const above = PrefixTree::AncestorOf(entry.node);
    change.base = known != known_.end() ? known->second.base
                  : above == nullptr    ? 0
                                        : PrefixTree::ValueOf(above);
    const auto fill = [&](PrefixChange* put) {
      put->begin = above == nullptr ? 0 : PrefixTree::PositionOf(above);
      put->tokens = PrefixTree::TokensFrom(entry.node, put->begin);
      put->resumable = may_use;
    };
    return ReportPart(std::move(change), false, fill, changes);
  }
  if (!traits.segments) return;
  if (entry.holder == 0 || !may_use) {
    if (known_.contains(checkpoint.id)) ReportGone({checkpoint.id}, changes);
    return;
  }
  change.base = entry.holder;
  ReportPart(
      std::move(change), false,
      [&](PrefixChange* put) {
        put->begin = checkpoint.position;
        put->needs_base = true;
        put->resumable = true;
      },
      changes);
}

void PrefixReporter::ReportGone(std::vector<uint64_t> ids, Changes* changes) {
  // Checkpoints before their segments, and segments before their parents.
  std::sort(ids.begin(), ids.end(), [this](uint64_t a, uint64_t b) {
    const bool a_last = known_.at(a).is_segment;
    const bool b_last = known_.at(b).is_segment;
    return a_last != b_last ? b_last : a > b;
  });
  for (const uint64_t id : ids) {
    known_.erase(id);
    PrefixChange change;
    change.kind = PrefixChange::Kind::kGone;
    change.part = id;
    changes->push_back(std::move(change));
  }
}

void PrefixReporter::ReportSlot(size_t index, Changes* changes) {
  Slot& slot = pool_->slot(index);
  size_t& known = slot_tokens_[index];
  const size_t tokens = ResumableTokens(slot.tokens().size(), slot.provenance());
  const size_t kept = std::min({slot.TakeUnchanged(), known, tokens});
  const size_t published = tokens / kSlotStepTokens * kSlotStepTokens;
  if (kept == known && published < known + kSlotStepTokens) return;
  PrefixChange change;
  change.part = kSlotParts + index;
  change.tier = PrefixTier::kSlot;
  if (published == 0) {
    change.kind = PrefixChange::Kind::kGone;
  } else {
    change.base = known == 0 ? 0 : change.part;
    change.begin = std::min(kept, published);
    change.tokens.assign(slot.tokens().begin() + static_cast<ptrdiff_t>(change.begin),
                         slot.tokens().begin() + static_cast<ptrdiff_t>(published));
    change.resumable = true;
  }
  if (published > 0 || known > 0) changes->push_back(std::move(change));
  known = published;
}

PrefixTier PrefixReporter::TierOf(uint64_t id) const {
  return table_->InMemory(id) ? PrefixTier::kMemory : PrefixTier::kDisk;
}

size_t PrefixReporter::ResumableTokens(size_t tokens, const Provenance& provenance) const {
  return exact_ ? std::min(tokens, provenance.clean) : tokens;
}

}  // namespace cairn
