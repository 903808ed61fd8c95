// ReadyProgram: keeps a child process started that waits for its input, so that whoever needs one
// does not wait until the program and its libraries are loaded (10 ms and more).
//
//   Take ──> the one that waits, or a new one
//        └─ 1 s without another Take ──> the next one is started, by a thread of its own: its start
//           must not take processors from what the taken one is needed for
//
// Threads: any, concurrently.

#ifndef CAIRN_MEDIA_CHILD_READY_PROGRAM_H_
#define CAIRN_MEDIA_CHILD_READY_PROGRAM_H_

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "media/child/spawned_program.h"

namespace cairn {

class ReadyProgram {
 public:
  // Starts the first one at once.
  explicit ReadyProgram(std::vector<std::string> argv,
                        std::chrono::milliseconds pause = std::chrono::milliseconds(1000));
  // Kills the one that waits.
  ~ReadyProgram();
  ReadyProgram(const ReadyProgram&) = delete;
  ReadyProgram& operator=(const ReadyProgram&) = delete;

  // Errors as in SpawnedProgram::Start.
  Result<std::unique_ptr<SpawnedProgram>> Take();
  // Whether one waits.
  bool has_one() const;

 private:
  void Run();
  void StartOne();

  const std::vector<std::string> argv_;
  const std::chrono::milliseconds pause_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<SpawnedProgram> ready_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_start_ GUARDED_BY(mutex_) = {};
  bool wanted_ GUARDED_BY(mutex_) = true;  // one is to be started
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all others
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_CHILD_READY_PROGRAM_H_
