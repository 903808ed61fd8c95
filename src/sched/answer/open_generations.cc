#include "sched/answer/open_generations.h"

namespace cairn {

void OpenGenerations::Add(const std::shared_ptr<Generation>& generation) {
  const std::lock_guard lock(mutex_);
  if (error_ != nullptr) generation->Fail(*error_);
  // There are no more than the queue and the slots have room for, and those of the last seconds.
  std::erase_if(open_, [](const auto& open) { return open.expired(); });
  open_.push_back(generation);
}

void OpenGenerations::FailAll(const Error& error) {
  const std::lock_guard lock(mutex_);
  error_ = std::make_unique<const Error>(error);
  for (const std::weak_ptr<Generation>& open : open_) {
    if (const std::shared_ptr<Generation> generation = open.lock()) generation->Fail(error);
  }
}

}  // namespace cairn
