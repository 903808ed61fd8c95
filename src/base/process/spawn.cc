#include "base/process/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace cairn {
namespace {

// The steps that posix_spawn takes in the child before the program starts.
class SpawnSteps {
 public:
  explicit SpawnSteps(const ChildStreams& streams) {
    CHECK(posix_spawn_file_actions_init(&files_) == 0);
    CHECK(posix_spawnattr_init(&attributes_) == 0);
    complete_ = AddStream(streams.input, STDIN_FILENO, O_RDONLY) &&
                AddStream(streams.output, STDOUT_FILENO, O_WRONLY) &&
                AddStream(streams.error, STDERR_FILENO, O_WRONLY) &&
                // Libraries open files too, and not all of them ask that a new program gets none.
                posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1) == 0 &&
                SetAttributes();
  }
  ~SpawnSteps() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSteps(const SpawnSteps&) = delete;
  SpawnSteps& operator=(const SpawnSteps&) = delete;

  // Returns an error number; 0: `pid` runs.
  int Spawn(char* const* argv, char* const* environment, pid_t* pid) const {
    if (!complete_) return ENOMEM;
    return posix_spawn(pid, argv[0], &files_, &attributes_, argv, environment);
  }

 private:
  bool AddStream(int descriptor, int stream, int open_flags) {
    if (descriptor == ChildStreams::kNone) {
      return posix_spawn_file_actions_addopen(&files_, stream, "/dev/null", open_flags, 0) == 0;
    }
    return posix_spawn_file_actions_adddup2(&files_, descriptor, stream) == 0;
  }

  bool SetAttributes() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    return posix_spawnattr_setsigmask(&attributes_, &none) == 0 &&
           posix_spawnattr_setsigdefault(&attributes_, &all) == 0 &&
           posix_spawnattr_setpgroup(&attributes_, 0) == 0 &&
           posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETPGROUP) == 0;
  }

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

}  // namespace

Result<pid_t> SpawnChild(std::vector<std::string> argv, std::vector<std::string> environment,
                         const ChildStreams& streams) {
  CHECK(!argv.empty());
  pid_t pid = -1;
  const int error =
      SpawnSteps(streams).Spawn(Pointers(&argv).data(), Pointers(&environment).data(), &pid);
  if (error == 0) return pid;
  return Fail(ErrorCode::kUnavailable, "cannot run " + argv[0] + ": " + strerror(error));
}

std::string OwnProgram() {
  const char* launcher = std::getenv("CAIRN_LAUNCHER");
  if (launcher != nullptr && *launcher != '\0') return launcher;
  const std::string link = "/proc/self/exe";
  std::error_code error;
  const auto path = std::filesystem::read_symlink(link, error);
  return !error && std::filesystem::exists(path, error) ? path.string() : link;
}

std::string HowChildEnded(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + " ended it";
  return "it exited with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace cairn
