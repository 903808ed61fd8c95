#include "api/answer/running_answers.h"

#include "api/json.h"

namespace cairn {

void RunningAnswers::Add(const std::string& id, NamespaceId name_space,
                         const std::shared_ptr<Generation>& generation) {
  const MutexLock lock(mutex_);
  std::erase_if(running_, [](const auto& entry) { return entry.second.expired(); });
  running_[{name_space, id}] = generation;
}

ApiResult<std::string> RunningAnswers::Cancel(const std::string& id, NamespaceId name_space) {
  std::shared_ptr<Generation> generation;
  {
    const MutexLock lock(mutex_);
    const auto found = running_.find({name_space, id});
    if (found != running_.end()) generation = found->second.lock();
  }
  if (!generation) {
    return tl::unexpected(
        ToApiError({ErrorCode::kNotFound, "no answer '" + id + "' is running; it may have ended"}));
  }
  generation->Cancel();
  return ToText({{"id", id}, {"deleted", true}});
}

}  // namespace cairn
