// SpawnChild: starts a program as a child process that inherits nothing it was not given.
//
// The child gets no descriptor besides its standard streams, so a client's connection ends when the
// server closes it; no blocked or ignored signal; and a process group of its own: Ctrl-C at the
// terminal is for the server alone, which lets answers end first.
//
// Thread-safe.

#ifndef CAIRN_BASE_PROCESS_SPAWN_H_
#define CAIRN_BASE_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace cairn {

// Descriptors of this process that the child gets as its standard streams; they stay open here.
struct ChildStreams {
  static constexpr int kNone = -1;  // /dev/null
  int input = kNone;
  int output = kNone;
  int error = kNone;
};

// Starts `argv`, whose first string is the program's path, with `environment` ("NAME=value", all of
// it). Returns its pid, which the caller waits for. kUnavailable, with a message that names the
// program, if there is none of that path or no process to be had. REQUIRES: `argv` is not empty.
Result<pid_t> SpawnChild(std::vector<std::string> argv, std::vector<std::string> environment,
                         const ChildStreams& streams);

// The path by which this program is started again: its file's, or a link to what runs if that was
// replaced meanwhile. The launcher of an unpacked archive names itself in CAIRN_LAUNCHER: there the
// file that runs is the loader, which the program's own file does not start with.
std::string OwnProgram();

// Says how a child ended, by the status of waitpid: "it exited with code 1", "signal 9 ended it".
std::string HowChildEnded(int status);

}  // namespace cairn

#endif  // CAIRN_BASE_PROCESS_SPAWN_H_
