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

#include "sched/context/scheduler_context.h"
#include "sched/idle_unloader.h"
#include "sched/mailbox.h"
#include "sched/queue/running_requests.h"

namespace cairn {

class SlotCommands {
 public:
  // All must outlive this object.
  SlotCommands(SchedulerContext* context, Mailbox* mailbox, const IdleUnloader* unloader,
               RunningRequests* running)
      : context_(context), mailbox_(mailbox), unloader_(unloader), running_(running) {}

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

  SchedulerContext* const context_;
  Mailbox* const mailbox_;
  const IdleUnloader* const unloader_;
  RunningRequests* const running_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOT_COMMANDS_H_
