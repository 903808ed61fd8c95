// OpenGenerations: the generations whose events somebody still takes.
//
// The queue and the running requests belong to the context thread. This list lets another thread
// end all requests when the context thread never comes back.
//
// Threads: any.

#ifndef CAIRN_SCHED_ANSWER_OPEN_GENERATIONS_H_
#define CAIRN_SCHED_ANSWER_OPEN_GENERATIONS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "sched/answer/generation.h"

namespace cairn {

class OpenGenerations {
 public:
  void Add(const std::shared_ptr<Generation>& generation);
  // Ends all of them with `error` (Generation::Fail), and from then on each that is added.
  void FailAll(const Error& error);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Generation>> open_;  // guarded by mutex_; some may have ended
  std::unique_ptr<const Error> error_;           // guarded by mutex_; nullptr until FailAll
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_OPEN_GENERATIONS_H_
