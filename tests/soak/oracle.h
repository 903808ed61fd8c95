// Oracle: the server without a cache, which gives the right answers.

#ifndef CAIRN_TESTS_SOAK_ORACLE_H_
#define CAIRN_TESTS_SOAK_ORACLE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "lab/client/server_process.h"
#include "soak/asking.h"
#include "soak/plan.h"

namespace cairn::soak {

// Thread-safe: requests are sent one after the other. None of them reuses anything: there is no
// cache, the only slot is cleared before, and the request has "cache_prompt": false if its API
// allows it. Answers are remembered, so no question is sent twice.
class Oracle {
 public:
  // Call it on a thread that outlives the oracle; see ServerProcess.
  static Result<std::unique_ptr<Oracle>> Start(const std::string& program, const std::string& model,
                                               const RoundPlan& plan, const std::string& log_path);

  // Returns the right answer to the question, not streamed.
  Reply Right(const Question& question);
  // Sends the question again, to see whether the answer is the same.
  Reply AskAgain(const Question& question);
  // Kills the server; pending questions get no answer.
  void Kill();

 private:
  explicit Oracle(std::unique_ptr<ServerProcess> server) : server_(std::move(server)) {}
  Reply AskLocked(const Question& question);

  const std::unique_ptr<ServerProcess> server_;
  std::mutex mutex_;
  std::map<std::string, Reply> known_;  // guarded by mutex_
};

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_ORACLE_H_
