#include "fleet/router/children/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/process/spawn.h"
#include "base/process/threads.h"

namespace cairn {
namespace {

constexpr size_t kLineBytesMax = 16384;  // a longer line is split

// Returns a descriptor that is readable when the process has ended, or -1.
int OpenPidFd(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace

int PortOfReadyLine(std::string_view line) {
  constexpr std::string_view kReady = "ready after ";
  constexpr std::string_view kAddress = "://127.0.0.1:";
  const size_t ready = line.find(kReady);
  if (ready == std::string_view::npos) return 0;
  const size_t address = line.find(kAddress, ready);
  if (address == std::string_view::npos) return 0;
  int port = 0;
  for (const char c : line.substr(address + kAddress.size())) {
    if (c < '0' || c > '9' || port > 65535) break;
    port = port * 10 + (c - '0');
  }
  return port <= 65535 ? port : 0;
}

ChildProcess::ChildProcess(ChildCommand command, ChildCallbacks callbacks)
    : command_(std::move(command)), callbacks_(std::move(callbacks)) {
  CHECK(!command_.argv.empty());
  thread_ = std::thread([this] { Run(); });
}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  thread_.join();
}

void ChildProcess::Signal(int number) {
  const MutexLock lock(mutex_);
  // The pid is valid until it has been waited for, which is done under the same lock.
  if (pid_ > 0) {
    kill(pid_, number);
  } else if (pending_ != SIGKILL) {
    pending_ = number;
  }
}

void ChildProcess::Run() {
  ChildEnd end = {127, "no memory"};
  static_cast<void>(TryWork([&] { end = RunChild(); }));
  static_cast<void>(TryWork([&] { callbacks_.on_end(end); }));
}

ChildEnd ChildProcess::RunChild() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {127, std::string("cannot make a pipe: ") + strerror(errno)};
  }
  std::string error;
  const pid_t pid = Start(ends[1], &error);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return {127, error};
  }
  // A child whose output nobody reads would wait for ever.
  if (!TryWork([&] { ReadOutput(ends[0], pid); })) Signal(SIGKILL);
  close(ends[0]);
  return Wait(pid);
}

pid_t ChildProcess::Start(int output, std::string* error) {
  const MutexLock lock(mutex_);
  const auto pid =
      SpawnChild(command_.argv, command_.environment, {.output = output, .error = output});
  if (!pid) {
    *error = pid.error().message;
    return -1;
  }
  pid_ = *pid;
  if (pending_ != 0) kill(pid_, pending_);
  return pid_;
}

// Reads until the child has ended, and then what is left: a process that the child started may
// keep the pipe open.
void ChildProcess::ReadOutput(int output, pid_t pid) {
  fcntl(output, F_SETFL, O_NONBLOCK);
  const int pid_fd = OpenPidFd(pid);
  for (bool is_open = true;;) {
    pollfd fds[] = {{is_open ? output : -1, POLLIN, 0}, {pid_fd, POLLIN, 0}};
    // Without a pidfd the end of the output is taken for the child's.
    if (!is_open && pid_fd < 0) break;
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) is_open = ReadSome(output);
    if (fds[1].revents != 0) {
      while (is_open && ReadSome(output) && poll(fds, 1, 0) > 0) {
      }
      break;
    }
  }
  if (pid_fd >= 0) close(pid_fd);
  if (!line_.empty()) EndLine();
}

// Returns false at the end of the output.
bool ChildProcess::ReadSome(int output) {
  std::array<char, 4096> buffer;
  const ssize_t n = read(output, buffer.data(), buffer.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  for (ssize_t i = 0; i < n; ++i) {
    const char c = buffer[static_cast<size_t>(i)];
    if (c != '\n') line_.push_back(c);
    if (c == '\n' || line_.size() >= kLineBytesMax) EndLine();
  }
  return n > 0;
}

void ChildProcess::EndLine() {
  const std::string line = std::exchange(line_, {});
  if (callbacks_.on_line) callbacks_.on_line(line);
  const int port = is_ready_ ? 0 : PortOfReadyLine(line);
  if (port == 0) return;
  is_ready_ = true;
  if (callbacks_.on_ready) callbacks_.on_ready(port);
}

ChildEnd ChildProcess::Wait(pid_t pid) {
  siginfo_t info{};
  // Waits without the lock, and takes the pid out of the kernel's table under it.
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const MutexLock lock(mutex_);
  // Ends the processes that the child started and left behind. The number is the group's until it
  // has been waited for.
  kill(-pid_, SIGKILL);
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, 0);
  pid_ = -1;
  if (ended < 0) return {127, "its end was not seen"};
  const int exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {exit_code, HowChildEnded(status)};
}

}  // namespace cairn
