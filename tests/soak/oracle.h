// Oracle: the server without a cache, which says what the right answer is.

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

// Thread-safe: questions are asked one after the other. Nothing is reused for any of them: there is
// no cache, the one slot is emptied before, and the request says "cache_prompt": false where its
// API can. Answers are remembered, not asked twice.
class Oracle {
 public:
  // Start it on a thread that outlives it; see ServerProcess.
  static Result<std::unique_ptr<Oracle>> Start(const std::string& program, const std::string& model,
                                               const RoundPlan& plan, const std::string& log_path);

  // What is said to the question, asked whole.
  Reply Right(const Question& question);
  // Without remembering: whether it says the same as before.
  Reply AskAgain(const Question& question);
  // Ends it; whoever waits for an answer gets none.
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
