#include "sched/slot_commands.h"

#include <utility>

namespace cairn {

template <typename T>
Result<T> SlotCommands::Call(std::function<Result<T>()> command) {
  if (idle_work_ != nullptr) idle_work_->Interrupt();
  return mailbox_->Call<T>(Mailbox::Kind::kCommand, [this, command = std::move(command)] {
    Result<T> result = unloader_->unloaded()
                           ? Result<T>(Fail(ErrorCode::kUnavailable, unloader_->reason()))
                           : command();
    // Published before the caller gets the result.
    running_->PublishSlots();
    return result;
  });
}

Result<size_t> SlotCommands::Erase(size_t slot, NamespaceId name_space) {
  return Call<size_t>([this, slot, name_space] { return archive_->Erase(slot, name_space); });
}

Result<SlotContent> SlotCommands::BeginSaving(size_t slot, NamespaceId name_space) {
  return Call<SlotContent>([this, slot, name_space] {
    cache_->TakeEvents();
    return archive_->BeginSaving(slot, name_space);
  });
}

Result<Bytes> SlotCommands::TakePart(size_t slot, const SlotPart& part) {
  return Call<Bytes>([this, slot, &part] { return archive_->TakePart(slot, part); });
}

void SlotCommands::EndSaving(size_t slot) {
  static_cast<void>(Call<void>([this, slot]() -> Status {
    archive_->EndSaving(slot);
    return {};
  }));
}

Status SlotCommands::CheckFree(size_t slot) {
  return Call<void>([this, slot] { return archive_->CheckFree(slot); });
}

Status SlotCommands::Restore(size_t slot, SavedSlot saved) {
  return Call<void>([this, slot, &saved] {
    cache_->TakeEvents();
    Status restored = archive_->Restore(slot, std::move(saved));
    stats_->Update([this](SchedulerStats* stats) {
      stats->slot_counters = pool_->counters();
      stats->cache = cache_->stats();
    });
    return restored;
  });
}

}  // namespace cairn
