// SpawnedProgram: a running child process, and the socket that is its standard input and output.
//
// Not thread-safe; several may be started at once from any threads.

#ifndef CAIRN_MEDIA_CHILD_SPAWNED_PROGRAM_H_
#define CAIRN_MEDIA_CHILD_SPAWNED_PROGRAM_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

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

}  // namespace cairn

#endif  // CAIRN_MEDIA_CHILD_SPAWNED_PROGRAM_H_
