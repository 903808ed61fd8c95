// RunningAnswers: running answers by the id that the client got, so that another request can cancel
// one.
//
// Threads: any.

#ifndef CAIRN_API_ANSWER_RUNNING_ANSWERS_H_
#define CAIRN_API_ANSWER_RUNNING_ANSWERS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/api_error.h"
#include "base/mutex.h"
#include "cache/checkpoint_cache.h"
#include "sched/answer/generation.h"

namespace cairn {

class RunningAnswers {
 public:
  // Lists the answer until no one else holds `generation`.
  void Add(const std::string& id, NamespaceId name_space,
           const std::shared_ptr<Generation>& generation);
  // Cancels the answer at its next token; its client gets what was generated. Returns the body of
  // the reply; 404 if `name_space` has no running answer of that id.
  ApiResult<std::string> Cancel(const std::string& id, NamespaceId name_space);

 private:
  using Key = std::pair<NamespaceId, std::string>;

  Mutex mutex_;
  std::map<Key, std::weak_ptr<Generation>> running_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_RUNNING_ANSWERS_H_
