// ServerProcess: a server program run as a child process, for tests, the demo and benchmarks.

#ifndef CAIRN_LAB_CLIENT_SERVER_PROCESS_H_
#define CAIRN_LAB_CLIENT_SERVER_PROCESS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

struct ServerProcessOptions {
  // The program and its arguments. A program without a slash is looked up in PATH.
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
  // The port in its arguments; 0: the port is read from an output line with "http://127.0.0.1:PORT"
  // (run it with `--port 0`).
  int port = 0;
  std::string health_path = "/health";  // answers 200 once the server is ready
  int start_timeout_ms = 120'000;       // includes loading a model
  int stop_grace_ms = 10'000;           // from SIGTERM to SIGKILL
  std::string log_path = {};            // the output is appended to this file too; empty: no file
};

// A thread of this object reads the child's standard output and error and keeps the last lines. The
// child leads its own process group; processes left in that group are killed with it.
//
// The child gets SIGTERM when the thread that started it ends, because Linux counts threads as
// parents. Start it on a thread that outlives it.
//
// Stop() and the destructor may not run concurrently; all other methods are thread-safe.
class ServerProcess {
 public:
  // Starts the program and waits until GET `health_path` answers 200. kUnavailable: it could not be
  // started, has ended, or was not ready in time; the message has its last lines.
  static Result<std::unique_ptr<ServerProcess>> Start(ServerProcessOptions options);

  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Sends SIGTERM, then SIGKILL after the grace time. Returns the exit code as exit_code() does.
  int Stop();
  // Sends a signal, for example SIGKILL to test crash recovery.
  void Signal(int number);

  // Returns the exit code once the child has ended, as a shell does: 128 + N if signal N ended it.
  std::optional<int> exit_code();
  // Waits up to `timeout_ms` for the child to exit. Returns nullopt on a timeout.
  std::optional<int> WaitForExit(int timeout_ms);

  int port() const;
  std::string url() const;  // "http://127.0.0.1:PORT"
  int pid() const;
  // Returns the last lines of its output, oldest first.
  std::string LastLines(size_t lines_max = 20) const;

 private:
  class Impl;
  explicit ServerProcess(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_SERVER_PROCESS_H_
