#include "sched/slot_commands.h"

#include <utility>

namespace cairn {

template <typename T>
Result<T> SlotCommands::Call(std::function<Result<T>()> command) {
  context_->InterruptIdleWork();
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
  return Call<size_t>(
      [this, slot, name_space] { return context_->archive.Erase(slot, name_space); });
}

Result<SlotContent> SlotCommands::BeginSaving(size_t slot, NamespaceId name_space) {
  return Call<SlotContent>([this, slot, name_space] {
    context_->cache->TakeEvents();
    return context_->archive.BeginSaving(slot, name_space);
  });
}

Result<Bytes> SlotCommands::TakePart(size_t slot, const SlotPart& part) {
  return Call<Bytes>([this, slot, &part] { return context_->archive.TakePart(slot, part); });
}

void SlotCommands::EndSaving(size_t slot) {
  static_cast<void>(Call<void>([this, slot]() -> Status {
    context_->archive.EndSaving(slot);
    return {};
  }));
}

Status SlotCommands::CheckFree(size_t slot) {
  return Call<void>([this, slot] { return context_->archive.CheckFree(slot); });
}

Status SlotCommands::Restore(size_t slot, SavedSlot saved) {
  return Call<void>([this, slot, &saved] {
    context_->cache->TakeEvents();
    Status restored = context_->archive.Restore(slot, std::move(saved));
    context_->stats.Update([this](SchedulerStats* stats) {
      stats->slot_counters = context_->pool.counters();
      stats->cache = context_->cache->stats();
    });
    return restored;
  });
}

}  // namespace cairn
