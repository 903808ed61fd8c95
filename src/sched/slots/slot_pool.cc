#include "sched/slots/slot_pool.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {

SlotPool::SlotPool(Engine* engine, CheckpointCache* cache, const Clock* clock,
                   const SlotPoolOptions& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      options_(options),
      ledger_(engine->slots()),
      last_lineage_(options.first_lineage) {
  CHECK(engine->slots() > 0 && engine->cells() >= engine->context_tokens());
  for (size_t i = 0; i < engine->slots(); ++i) {
    entries_.push_back({Slot(engine, &ledger_, static_cast<SeqId>(i), &options_.cuts)});
  }
  cache->SetSlots(ViewForCache());
}

SlotPool::~SlotPool() {
  cache_->SetSlots({});
}

SlotsView SlotPool::ViewForCache() const {
  const MemoryTraits& traits = engine_->traits();
  SlotsView view;
  view.needs_snapshots = traits.NeedsSnapshots();
  // For slots stored as full states the cache does not check which snapshots they serve.
  view.snapshots_need_kv = traits.segments && traits.kv_bytes_per_token > 0;
  view.kv_bytes_per_token = traits.kv_bytes_per_token;
  view.held = [this] {
    std::vector<SlotsView::Held> held;
    for (const Entry& entry : entries_) {
      const TokenSpan own = TokenSpan(entry.slot.tokens()).first(entry.slot.own_tokens());
      held.push_back({entry.slot.name_space(), own, &entry.slot == offloading_});
    }
    return held;
  };
  return view;
}

size_t SlotPool::free_slots() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(),
                                           [](const Entry& entry) { return entry.free; }));
}

bool SlotPool::saving() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.saving; });
}

bool SlotPool::HasRoomFor(size_t tokens) const {
  std::vector<bool> in_use;
  for (const Entry& entry : entries_) in_use.push_back(!entry.free);
  return ledger_.UsedBy(in_use) + tokens <= engine_->cells();
}

std::optional<size_t> SlotPool::LongestUnused(size_t but, size_t and_but) const {
  std::optional<size_t> found;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (i == but || i == and_but || !entry.free || entry.slot.tokens().empty()) continue;
    if (!found || entry.used_tick < entries_[*found].used_tick) found = i;
  }
  return found;
}

void SlotPool::Use(size_t index) {
  entries_[index].free = false;
  entries_[index].used_tick = tick_;
}

void SlotPool::Release(size_t index) {
  Entry& entry = entries_[index];
  CHECK(!entry.free);
  entry.free = true;
  entry.released_ms = clock_->NowMs();
  entry.segments_left.reset();
  entry.beside_tokens = 0;
  entry.stays = false;
}

void SlotPool::EmptyAfterFailure(size_t index) {
  Entry& entry = entries_[index];
  entry.slot.Clear(entry.slot.name_space());
  entry.segments_left.reset();
  entry.stays = false;
  entry.free = !entry.saving;
  offloading_ = nullptr;
}

}  // namespace cairn
