// RunningAnswers: answers on their way, by the id that their clients were told, so that somebody
// else may end one.
//
// Threads: any.

#ifndef CAIRN_API_ANSWER_RUNNING_ANSWERS_H_
#define CAIRN_API_ANSWER_RUNNING_ANSWERS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "api/api_error.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/generation.h"

namespace cairn {

class RunningAnswers {
 public:
  // Until nobody else holds `generation`.
  void Add(const std::string& id, NamespaceId name_space,
           const std::shared_ptr<Generation>& generation);
  // Ends it at the next piece; whoever waits for it gets what there is. The body to answer with.
  // 404: no answer of that id is on its way for `name_space`.
  ApiResult<std::string> Cancel(const std::string& id, NamespaceId name_space);

 private:
  using Key = std::pair<NamespaceId, std::string>;

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<Generation>> running_;  // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_RUNNING_ANSWERS_H_
