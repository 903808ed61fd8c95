#include "media/spawned_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// The steps that posix_spawn takes in the child before the program starts.
class SpawnActions {
 public:
  explicit SpawnActions(int socket) {
    CHECK(posix_spawn_file_actions_init(&files_) == 0);
    CHECK(posix_spawnattr_init(&attributes_) == 0);
    bool added = posix_spawn_file_actions_adddup2(&files_, socket, STDIN_FILENO) == 0;
    added = added && posix_spawn_file_actions_adddup2(&files_, socket, STDOUT_FILENO) == 0;
    added = added &&
            posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    // Libraries open files too, and not all of them ask that a new program gets none.
    added = added && posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1) == 0;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    added = added && posix_spawnattr_setsigmask(&attributes_, &none) == 0;
    added = added && posix_spawnattr_setsigdefault(&attributes_, &all) == 0;
    // A group of its own: Ctrl-C at the terminal is for the server alone.
    added = added && posix_spawnattr_setpgroup(&attributes_, 0) == 0;
    added = added &&
            posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                       POSIX_SPAWN_SETPGROUP) == 0;
    complete_ = added;
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  // Returns an error number; 0: `pid` runs.
  int Spawn(char* const* argv, char* const* environment, pid_t* pid) const {
    if (!complete_) return ENOMEM;
    return posix_spawn(pid, argv[0], &files_, &attributes_, argv, environment);
  }

 private:
  posix_spawn_file_actions_t files_ = {};
  posix_spawnattr_t attributes_ = {};
  bool complete_ = false;
};

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> pointers;
  for (std::string& text : *strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> LibraryFolders() {
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  if (folders == nullptr) return {};
  return {std::string("LD_LIBRARY_PATH=") + folders};
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + " ended it";
  if (WEXITSTATUS(status) == 0) return "";
  return "it exited with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<std::unique_ptr<SpawnedProgram>> SpawnedProgram::Start(std::vector<std::string> argv) {
  CHECK(!argv.empty());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot make a socket: ") + strerror(errno));
  }
  std::vector<std::string> environment = LibraryFolders();
  pid_t pid = -1;
  int error = 0;
  // The child blocks on its end; only this one must not.
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) error = errno;
  if (error == 0) {
    error =
        SpawnActions(ends[1]).Spawn(Pointers(&argv).data(), Pointers(&environment).data(), &pid);
  }
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return Fail(ErrorCode::kUnavailable, "cannot run " + argv[0] + ": " + strerror(error));
  }
  return std::unique_ptr<SpawnedProgram>(new SpawnedProgram(ends[0], pid));
}

SpawnedProgram::~SpawnedProgram() {
  if (pid_ > 0) End();
  close(socket_);
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
  return ended == pid ? HowItEnded(status) : "";
}

}  // namespace cairn
