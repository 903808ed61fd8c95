// ServerProcess: a server program run as a child, for tests, the demo and the benchmarks.

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
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to ours
  // The port it was told to take; 0: it says so in a line with "http://127.0.0.1:PORT" (run it with
  // `--port 0`).
  int port = 0;
  std::string health_path = "/health";  // answers 200 once the server is ready
  int start_timeout_ms = 120'000;       // a model may have to be loaded
  int stop_grace_ms = 10'000;           // from SIGTERM to SIGKILL
  std::string log_path = {};            // its output is appended to this file too; empty: kept only
};

// The child's standard output and error are read by a thread of this object, which keeps the last
// lines. The child leads a process group of its own; what it leaves behind there is killed with it.
//
// The child gets SIGTERM when the thread that started it ends (Linux counts threads as parents), so
// start it on a thread that lives as long as it should.
//
// Stop() and the destructor may not be called at the same time; all else is thread-safe.
class ServerProcess {
 public:
  // Starts the program and waits until it answers 200 to GET `health_path`. kUnavailable: it could
  // not be started, has ended, or was not ready in time; the message holds its last lines.
  static Result<std::unique_ptr<ServerProcess>> Start(ServerProcessOptions options);

  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // SIGTERM, then SIGKILL after the grace time. Returns the exit code as exit_code() gives it.
  int Stop();
  // Sends a signal, for example SIGKILL to see what survives it.
  void Signal(int number);

  // The exit code once the child has ended, 128 + N when signal N ended it, as a shell says it.
  std::optional<int> exit_code();
  // Waits up to `timeout_ms` for the child to end by itself.
  std::optional<int> WaitForExit(int timeout_ms);

  int port() const;
  std::string url() const;  // "http://127.0.0.1:PORT"
  int pid() const;
  // The last lines of its output, oldest first.
  std::string LastLines(size_t lines_max = 20) const;

 private:
  class Impl;
  explicit ServerProcess(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_SERVER_PROCESS_H_
