// SlotCommands: changes slots on behalf of other threads: clients erase slots, save them to files
// and restore them (sched/slot_files.h). Each call waits until the context thread, between
// two steps, has run the function of the same name in SlotArchive.
//
// Errors, besides SlotArchive's: kUnavailable if the scheduler is stopping, or the model is
// unloaded and cannot be loaded.
//
// Threads: any but the context thread.

#ifndef CAIRN_SCHED_SLOT_COMMANDS_H_
#define CAIRN_SCHED_SLOT_COMMANDS_H_

#include <cstddef>
#include <functional>

#include "base/bytes.h"
#include "base/result.h"
#include "cache/checkpoint_cache.h"
#include "sched/context/scheduler_stats.h"
#include "sched/idle_unloader.h"
#include "sched/mailbox.h"
#include "sched/queue/running_requests.h"
#include "sched/request/idle_work.h"
#include "sched/slots/saved_slot.h"
#include "sched/slots/slot_archive.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class SlotCommands {
 public:
  // All must outlive this object. `idle_work`: nullptr if there is none.
  SlotCommands(CheckpointCache* cache, const SlotPool* pool, SlotArchive* archive,
               StatsBoard* stats, IdleWork* idle_work, Mailbox* mailbox,
               const IdleUnloader* unloader, RunningRequests* running)
      : cache_(cache),
        pool_(pool),
        archive_(archive),
        stats_(stats),
        idle_work_(idle_work),
        mailbox_(mailbox),
        unloader_(unloader),
        running_(running) {}

  Result<size_t> Erase(size_t slot, NamespaceId name_space);
  // Until EndSaving, requests get other slots, or wait. Other requests' steps run between two
  // parts.
  Result<SlotContent> BeginSaving(size_t slot, NamespaceId name_space);
  Result<Bytes> TakePart(size_t slot, const SlotPart& part);
  // If the scheduler stops, saving ends without this call.
  void EndSaving(size_t slot);
  Status CheckFree(size_t slot);
  Status Restore(size_t slot, SavedSlot saved);

 private:
  template <typename T>
  Result<T> Call(std::function<Result<T>()> command);

  CheckpointCache* const cache_;
  const SlotPool* const pool_;
  SlotArchive* const archive_;
  StatsBoard* const stats_;
  IdleWork* const idle_work_;
  Mailbox* const mailbox_;
  const IdleUnloader* const unloader_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOT_COMMANDS_H_
