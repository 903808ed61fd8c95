// ChildProcess: a server process of one model, and the thread that looks after it.
//
//   thread ── posix_spawn ──> cairn serve -m … --port 0      leads a process group of its own
//          <── its log (standard output and error), line by line
//          <── its end (a pidfd)
//
// The thread reads the port from the line in which the child says that it is ready. It starts the
// child itself: a child that asks Linux to be told of its parent's end (PR_SET_PDEATHSIG) is told
// of the end of the thread that started it.

#ifndef CAIRN_FLEET_ROUTER_CHILDREN_CHILD_PROCESS_H_
#define CAIRN_FLEET_ROUTER_CHILDREN_CHILD_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace cairn {

struct ChildCommand {
  std::vector<std::string> argv;         // the first is the program's path
  std::vector<std::string> environment;  // "NAME=value", all of it
};

// How a process ended.
struct ChildEnd {
  int exit_code = 0;  // as a shell has it: 128 + N if signal N ended it
  std::string how;    // "it exited with code 1", "signal 9 ended it", "cannot run /x: …"
};

// Called on the child's thread, in this order: lines, at most one on_ready among them, and on_end
// once, after the last line. They must not destroy the ChildProcess.
struct ChildCallbacks {
  std::function<void(std::string_view line)> on_line;
  std::function<void(int port)> on_ready;
  std::function<void(const ChildEnd& end)> on_end;
};

// Returns the port in the line with which a server says that it is ready, as text or as JSON:
// "… ready after 1.5 s: http://127.0.0.1:8080". 0 for any other line.
int PortOfReadyLine(std::string_view line);

// A server process, or in tests something that plays one. Its destructor ends it.
class Child {
 public:
  virtual ~Child() = default;
  // Sends a signal, unless the child has ended. One that comes before its start is sent then.
  virtual void Signal(int number) = 0;
};

// Thread-safe, but for the destructor.
class ChildProcess final : public Child {
 public:
  // Returns at once. If the program cannot be run, on_end says so. Throws std::system_error,
  // without a callback, where the system starts no more threads.
  ChildProcess(ChildCommand command, ChildCallbacks callbacks);
  // Kills the child if it runs, and waits for its end.
  ~ChildProcess() override;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void Signal(int number) override;

 private:
  void Run();
  ChildEnd RunChild();
  // Returns the process's number, or -1 and why it does not run.
  pid_t Start(int output, std::string* error);
  void ReadOutput(int output, pid_t pid);
  bool ReadSome(int output);
  void EndLine();
  ChildEnd Wait(pid_t pid);

  const ChildCommand command_;
  const ChildCallbacks callbacks_;
  std::string line_;       // the thread's
  bool is_ready_ = false;  // the thread's
  Mutex mutex_;
  pid_t pid_ GUARDED_BY(mutex_) = -1;   // -1: it does not run
  int pending_ GUARDED_BY(mutex_) = 0;  // a signal that came too early
  std::thread thread_;                  // the last member: it uses the others
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_CHILDREN_CHILD_PROCESS_H_
