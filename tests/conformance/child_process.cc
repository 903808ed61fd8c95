#include "conformance/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace cairn::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class FileHandle {
 public:
  explicit FileHandle(int fd = -1) : fd_(fd) {}
  ~FileHandle() { Close(); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

Status MakePipe(FileHandle* read_end, FileHandle* write_end) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot make a pipe: ") + strerror(errno));
  }
  read_end->Reset(ends[0]);
  write_end->Reset(ends[1]);
  return {};
}

// Runs in the child between fork and exec, so it makes only async-signal-safe calls.
[[noreturn]] void Become(char* const* argv, const char* folder, int output, int log,
                         int error_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Some checks are expected to abort; their core files are useless.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (folder[0] == '\0' || chdir(folder) == 0) execvp(argv[0], argv);
  const int error = errno;
  const ssize_t written = write(error_pipe, &error, sizeof(error));
  static_cast<void>(written);
  _exit(127);
}

// Reads until the writer closes its end. Returns false on a timeout.
bool ReadUntil(int fd, steady_clock::time_point deadline, std::string* text) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting = {fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size <= 0) return true;
    text->append(buffer.data(), static_cast<size_t>(size));
  }
}

}  // namespace

Result<ChildResult> RunChild(const ChildOptions& options) {
  FileHandle output;
  FileHandle output_end;
  FileHandle error;
  FileHandle error_end;
  for (const Status& made : {MakePipe(&output, &output_end), MakePipe(&error, &error_end)}) {
    if (!made) return tl::unexpected(made.error());
  }
  const std::string log_path = options.log_path.empty() ? "/dev/null" : options.log_path;
  const FileHandle log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::vector<std::string> arguments = options.argv;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t pid = fork();
  if (pid < 0) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot start a process: ") + strerror(errno));
  }
  if (pid == 0) {
    Become(argv.data(), options.folder.c_str(), output_end.get(), log.get(), error_end.get());
  }
  output_end.Close();
  error_end.Close();
  ChildResult result;
  const auto deadline = steady_clock::now() + milliseconds(options.timeout_ms);
  result.timed_out = !ReadUntil(output.get(), deadline, &result.output);
  if (result.timed_out) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  int reason = 0;
  if (read(error.get(), &reason, sizeof(reason)) == sizeof(reason)) {
    return Fail(ErrorCode::kUnavailable,
                "cannot run " + options.argv[0] + ": " + std::strerror(reason));
  }
  if (!result.timed_out && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace cairn::conformance
