#include "media/child/spawned_program.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

std::vector<std::string> LibraryFolders() {
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  if (folders == nullptr) return {};
  return {std::string("LD_LIBRARY_PATH=") + folders};
}

}  // namespace

Result<std::unique_ptr<SpawnedProgram>> SpawnedProgram::Start(std::vector<std::string> argv) {
  CHECK(!argv.empty());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot make a socket: ") + strerror(errno));
  }
  // The child blocks on its end; only this one must not.
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    const std::string why = strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return Fail(ErrorCode::kUnavailable, "cannot prepare a socket: " + why);
  }
  const auto pid =
      SpawnChild(std::move(argv), LibraryFolders(), {.input = ends[1], .output = ends[1]});
  close(ends[1]);
  if (!pid) {
    close(ends[0]);
    return tl::unexpected(pid.error());
  }
  return std::unique_ptr<SpawnedProgram>(new SpawnedProgram(ends[0], *pid));
}

SpawnedProgram::~SpawnedProgram() {
  if (pid_ > 0) End();
  close(socket_);
}

bool SpawnedProgram::IsRunning() const {
  CHECK(pid_ > 0);
  siginfo_t ended = {};
  const int looked = waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
  return looked == 0 && ended.si_pid == 0;
}

std::string SpawnedProgram::End() {
  CHECK(pid_ > 0);
  const pid_t pid = std::exchange(pid_, -1);
  // If it has begun to exit already, this changes nothing of how it ended.
  kill(pid, SIGKILL);
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  // Where SIGCHLD is ignored, the kernel has thrown the status away.
  const bool has_failed = ended == pid && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return has_failed ? HowChildEnded(status) : "";
}

ReadyProgram::ReadyProgram(std::vector<std::string> argv, std::chrono::milliseconds pause)
    : argv_(std::move(argv)), pause_(pause), thread_([this] { Run(); }) {}

ReadyProgram::~ReadyProgram() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

Result<std::unique_ptr<SpawnedProgram>> ReadyProgram::Take() {
  std::unique_ptr<SpawnedProgram> program;
  {
    const MutexLock lock(mutex_);
    program = std::move(ready_);
    wanted_ = true;
    next_start_ = std::chrono::steady_clock::now() + pause_;
  }
  changed_.NotifyAll();
  if (program != nullptr && program->IsRunning()) return program;
  return SpawnedProgram::Start(argv_);
}

bool ReadyProgram::has_one() const {
  const MutexLock lock(mutex_);
  return ready_ != nullptr;
}

void ReadyProgram::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_) {
      changed_.Wait(mutex_);
    } else if (now < next_start_) {
      changed_.WaitFor(mutex_, next_start_ - now);
    } else {
      wanted_ = false;
      const MutexUnlock unlocked(mutex_);
      StartOne();
    }
  }
}

// Whoever takes one meanwhile starts it himself, and sees why if it cannot be started.
void ReadyProgram::StartOne() {
  static_cast<void>(TryWork([this] {
    auto started = SpawnedProgram::Start(argv_);
    if (!started) return;
    const MutexLock lock(mutex_);
    ready_ = *std::move(started);
  }));
}

}  // namespace cairn
