// Restorer: gives a prompt a slot, and advances the slot along the prompt without prefill, by the
// cheapest resume path (sched/slots/slot_choice.h):
//
//   slot   | prefix | conversation A, 9,000 tokens |      a prompt of conversation B arrives
//            kept     '--- offloaded: segments + snapshot     ─> and A is assembled again later
//
// A resume path that fails costs prefill: the slot is then empty, the object that failed is removed
// and counted, and the prompt is computed.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_SLOTS_RESTORER_H_
#define CAIRN_SCHED_SLOTS_RESTORER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "cache/checkpoint_cache.h"
#include "cache/resume.h"
#include "engine/engine.h"
#include "sched/answer/reuse_report.h"
#include "sched/slots/offloader.h"
#include "sched/slots/slot_choice.h"
#include "sched/slots/slot_mover.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

// MeasuredRate: the speed of work that comes in pieces of different sizes. Every piece has a fixed
// cost, which says little about large ones, so a piece counts by its size; and older ones less.
//
// Pure; one thread at a time.
class MeasuredRate {
 public:
  // Nothing changes where no time was measured.
  void Add(double units, double ms) {
    if (units <= 0 || ms <= 0) return;
    units_ = units_ * kKeptShare + units;
    ms_ = ms_ * kKeptShare + ms;
  }
  // 0: not measured yet.
  double units_per_ms() const { return ms_ > 0 ? units_ / ms_ : 0; }
  double ms_per_unit() const { return units_ > 0 ? ms_ / units_ : 0; }

 private:
  static constexpr double kKeptShare = 0.75;  // of what was measured before

  double units_ = 0;
  double ms_ = 0;
};

class Restorer {
 public:
  struct Resumed {
    size_t slot = 0;
    // Logits at the prompt's end, if nothing is left to compute; else empty.
    std::vector<float> logits;
    // How the slot got there. Does not cover tokens beyond that position which other slots and the
    // cache know.
    ReuseReport report;
  };
  struct Reach {
    size_t tokens = 0;         // how far along the prompt Resume would come
    size_t shared_tokens = 0;  // the part that lies in cells of a slot in use
  };

  // Both must outlive this object.
  Restorer(SlotPool* pool, Offloader* offloader)
      : pool_(pool), offloader_(offloader), mover_(pool, offloader) {}

  // Takes a slot for a prompt and advances it along the prompt. The slot is in use until
  // SlotPool::Release. REQUIRES: a slot is free.
  Resumed Resume(const SlotNeeds& needs);
  // Returns how far Resume would come now; if no slot is free, as if all were.
  Reach ReachOf(const SlotNeeds& needs) const;
  // Returns the objects of the cache that Resume would use now, in the order of use. Empty if all
  // of them are in memory, or if memory cannot hold them: BeginFilling reads those.
  std::vector<uint64_t> ToLoad(const SlotNeeds& needs) const;
  // Whether memory cannot hold what Resume would use now. It would wait for the disk.
  bool ExceedsMemory(const SlotNeeds& needs) const {
    return BytesInParts(needs, Choose(needs)) > pool_->cache().loader().bytes_max();
  }

  // A free slot that takes a long path part by part, between the steps of running answers, before
  // its request gets it.
  struct Filling {
    size_t slot = 0;
    NamespaceId name_space = 0;
    std::optional<SlotAssembly> assembly;
    ResumePath path;
    CheckpointCache::PinnedPath segments;  // pinned from `next` on
    size_t next = 0;
    DiskLoader::LoadId load = 0;
    size_t had_tokens = 0;
    double ms = 0;       // spent so far
    ReuseReport report;  // of the path, when it is done
  };
  enum class Filled { kMore, kDone, kFailed };
  // Takes a slot for the prompt if the path that Resume would choose is long enough to be taken in
  // parts. The slot is in use until Fill or EndFilling frees it. REQUIRES: a slot is free.
  std::optional<Filling> BeginFilling(const SlotNeeds& needs);
  // Whether Fill would not wait for the disk.
  bool CanFill(const Filling& filling) const;
  // Takes the next part. After the last one the slot is free and holds the prefix; after a failure
  // it is free and empty.
  Filled Fill(Filling* filling);
  // Frees and empties the slot.
  void EndFilling(const Filling& filling);

  struct Losing {
    size_t slot = 0;
    size_t lost_tokens = 0;
  };
  // Returns the slots whose contents Resume would store before it takes them, and that are not
  // stored yet.
  std::vector<Losing> SlotsToStore(const SlotNeeds& needs) const;
  // Returns the report of a path that is at hand: a slot holds its KV, and the state to restore, if
  // one is needed, is in memory. Resume would move only that state, so it need not be called before
  // a request continues from there. Returns nullopt if there is no such path.
  std::optional<ReuseReport> AtHand(const SlotNeeds& needs);

  // Records how long prefill took; the choice of a path weighs it.
  void ObservePrefill(size_t tokens, double ms);
  // 0: not measured yet.
  double prefill_ms_per_token() const { return prefilled_tokens_.ms_per_unit(); }
  // The time that computing `tokens` prompt tokens takes, from the measurements so far.
  double PrefillMs(size_t tokens) const;

 private:
  // The objects of the cache that a path needs, pinned while it is used.
  struct Pins {
    ByteSpan snapshot;
    ByteSpan full_state;
    std::optional<CheckpointCache::PinnedPath> segments;
    bool from_disk = false;  // snapshot or full state: see DiskLoader::FromDisk
  };

  Resumed ResumeAnyhow(SlotNeeds needs);
  // Returns nullopt if moving is disabled, or brings no more than `otherwise`.
  std::optional<Resumed> ResumeByMoving(const SlotNeeds& needs, const ResumePath& otherwise);
  // Fills in the report of a path that succeeded.
  void Describe(const SlotNeeds& needs, const ResumePath& path, const Pins& pins, size_t had_tokens,
                Resumed* resumed) const;
  // False with `exact` where the engine found no grid, because nothing then guarantees the bits.
  bool MayReuse() const;
  ResumeRules Rules(const SlotNeeds& needs) const;
  // If no slot is free, chooses as if all were.
  ResumePath Choose(const SlotNeeds& needs) const;

  // Returns nullopt if an object is gone.
  std::optional<Pins> Pin(const SlotNeeds& needs, const ResumePath& path);
  void Unpin(const ResumePath& path, const Pins& pins);
  // Removes objects that could not be used, so that they are not tried again.
  void Discard(const ResumePath& path, const Pins& pins);

  // How many bytes are assembled in the time in which a token is prefilled. 0: not measured yet.
  double assembled_bytes_per_prefill_token() const {
    return prefilled_tokens_.ms_per_unit() * assembled_bytes_.units_per_ms();
  }
  // Whether a slot that loses its last `lost_tokens` tokens is worth storing first.
  bool StoringPays(const Slot& slot, size_t lost_tokens) const;
  // The bytes of a path that can be taken in parts; 0 if it cannot be.
  size_t BytesInParts(const SlotNeeds& needs, const ResumePath& path) const;
  // The number of first tokens of the prompt that the slot holds.
  size_t HeldTokens(const SlotNeeds& needs, size_t slot) const;
  // Unpins the parts of [begin, end).
  void UnpinParts(const Filling& filling, size_t begin, size_t end);
  Filled FailFilling(Filling* filling, const Error& error);
  // Whether the path shares the cells of another slot.
  bool Forks(const ResumePath& path) const;
  // The cells that the prompt takes besides those that its slot shares.
  size_t CellsWanted(const SlotNeeds& needs, const ResumePath& path) const;
  // Makes room before a state is restored, because a full context refuses states without giving a
  // reason. Slots in use stay; if they leave too little room, prefill reports it.
  void MakeRoom(const SlotNeeds& needs, const ResumePath& path);
  Status Follow(const SlotNeeds& needs, const ResumePath& path, const Pins& pins);
  Status FollowInSlot(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Pins& pins);
  Status Assemble(Slot* slot, TokenSpan prefix, const ResumePoint& point, const Pins& pins);
  // `had_tokens`: how many of the prompt's tokens the slot held before.
  ReuseReport Report(const ResumePath& path, const Pins& pins, size_t had_tokens) const;

  SlotPool* const pool_;
  Offloader* const offloader_;
  SlotMover mover_;
  MeasuredRate prefilled_tokens_;
  MeasuredRate assembled_bytes_;
};

// The slots of a model and what computes prompts in them. Plain data; the context thread.
struct ModelSlots {
  // All three must outlive this object.
  ModelSlots(Engine* engine, CheckpointCache* cache, const Clock* clock,
             const SlotPoolOptions& options)
      : pool(engine, cache, clock, options),
        checkpoints(&pool),
        offloader(&pool, &checkpoints),
        restorer(&pool, &offloader) {}
  ModelSlots(const ModelSlots&) = delete;
  ModelSlots& operator=(const ModelSlots&) = delete;

  SlotPool pool;
  CheckpointTaker checkpoints;
  Offloader offloader;
  Restorer restorer;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_RESTORER_H_
