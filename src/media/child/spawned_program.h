// SpawnedProgram: a running child process, and the socket that is its standard input and output.
//
// Not thread-safe; several may be started at once from any threads.

#ifndef CAIRN_MEDIA_CHILD_SPAWNED_PROGRAM_H_
#define CAIRN_MEDIA_CHILD_SPAWNED_PROGRAM_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

class SpawnedProgram {
 public:
  // Starts `argv`, whose first string is the program's path. It inherits no descriptor, no blocked
  // signal, and of the environment only the folders of libraries; its standard error is dropped.
  // kUnavailable if there is no program of that path, or no process to be had.
  static Result<std::unique_ptr<SpawnedProgram>> Start(std::vector<std::string> argv);
  // Kills it, and waits for its end.
  ~SpawnedProgram();
  SpawnedProgram(const SpawnedProgram&) = delete;
  SpawnedProgram& operator=(const SpawnedProgram&) = delete;

  // Does not block. Owned by this object.
  int socket() const { return socket_; }
  // Whether it has not ended yet. REQUIRES: End was not called.
  bool IsRunning() const;
  // Kills it if it runs, waits, and says how it ended: "it exited with code 1", "signal 9 ended
  // it". Empty if it exited with code 0. REQUIRES: called once.
  std::string End();

 private:
  SpawnedProgram(int socket, pid_t pid) : socket_(socket), pid_(pid) {}

  const int socket_;
  pid_t pid_;  // -1: it has ended
};

// ReadyProgram: keeps a child process started that waits for its input, so that whoever needs one
// does not wait until the program and its libraries are loaded (10 ms and more).
//
//   Take ──> the one that waits, or a new one
//        └─ 1 s without another Take ──> the next one is started, by a thread of its own: its start
//           must not take processors from what the taken one is needed for
//
// Threads: any, concurrently.
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

#endif  // CAIRN_MEDIA_CHILD_SPAWNED_PROGRAM_H_
