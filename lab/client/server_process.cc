#include "lab/client/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <string_view>
#include <thread>

#include "http/http_client.h"

extern char** environ;

namespace cairn {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kLinesKept = 200;
constexpr size_t kLineBytesMax = 4096;  // a longer line is split
constexpr milliseconds kPollInterval(10);

// Returns the port behind "http://127.0.0.1:" or "https:..." in a line, or 0. An address with a
// path is that of something else, for instance of a file that is downloaded.
int PortIn(std::string_view line) {
  constexpr std::string_view kUrl = "://127.0.0.1:";
  const size_t at = line.find(kUrl);
  if (at == std::string_view::npos) return 0;
  // A line may name addresses of other protocols.
  const std::string_view before = line.substr(0, at);
  const std::string_view rest = line.substr(at + kUrl.size());
  if (!before.ends_with("http") && !before.ends_with("https")) return PortIn(rest);
  int port = 0;
  size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9' && port <= 65535) {
    port = port * 10 + (rest[digits++] - '0');
  }
  if (rest.substr(digits).starts_with('/')) return PortIn(rest);
  return port <= 65535 ? port : 0;
}

std::vector<std::string> EnvironmentWith(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::any_of(added.begin(), added.end(), [text](const auto& pair) {
      return text.starts_with(pair.first + "=");
    });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> pointers;
  for (std::string& text : *strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child between fork and exec, so it makes only async-signal-safe calls.
[[noreturn]] void RunChild(char* const* argv, char* const* environment, pid_t parent, int output,
                           int error_pipe) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // the parent ended before prctl() took effect
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execvpe(argv[0], argv, environment);
  const int error = errno;
  const ssize_t written = write(error_pipe, &error, sizeof(error));
  static_cast<void>(written);
  _exit(127);
}

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool ok() const { return ends_[0] >= 0; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() { CloseEnd(1); }

 private:
  void CloseEnd(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

  int ends_[2];
};

}  // namespace

class ServerProcess::Impl {
 public:
  explicit Impl(ServerProcessOptions options)
      : options_(std::move(options)), port_(options_.port), url_port_known_(options_.port != 0) {}
  ~Impl();

  Status Launch();
  Status WaitUntilReady();
  int Stop();
  void Signal(int number);
  std::optional<int> Reap();
  std::optional<int> WaitForExit(int timeout_ms);
  std::string LastLines(size_t lines_max) const;

  int port() const { return port_.load(); }
  int pid() const { return pid_; }

 private:
  void ReadOutput();
  void TakeOutput(std::string_view bytes);
  void EndLine();
  void StopReading();
  Error NotReady(const std::string& what) const;

  const ServerProcessOptions options_;
  Pipe output_;
  Pipe reader_stop_;  // closing its write end stops the reader
  std::thread reader_;
  pid_t pid_ = -1;
  std::atomic<int> port_;
  std::atomic<bool> url_port_known_;
  std::atomic<bool> speaks_tls_ = false;

  // Used by the reader thread only.
  std::ofstream log_;
  std::string line_;

  mutable std::mutex lines_mutex_;
  std::deque<std::string> lines_;  // guarded by lines_mutex_

  std::mutex exit_mutex_;
  std::optional<int> exit_code_;  // guarded by exit_mutex_
};

ServerProcess::Impl::~Impl() {
  if (pid_ > 0) Stop();
  StopReading();
}

Status ServerProcess::Impl::Launch() {
  if (options_.argv.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "no program was named to run as a server");
  }
  Pipe exec_error;
  if (!output_.ok() || !reader_stop_.ok() || !exec_error.ok()) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot make a pipe: ") + strerror(errno));
  }
  if (!options_.log_path.empty()) {
    log_.open(options_.log_path, std::ios::app | std::ios::binary);
    if (!log_) {
      return Fail(ErrorCode::kUnavailable, "cannot write the log file " + options_.log_path);
    }
  }
  // All of the child's data is made before the fork: after it, allocation is not safe.
  std::vector<std::string> arguments = options_.argv;
  std::vector<std::string> environment = EnvironmentWith(options_.environment);
  const std::vector<char*> argv = Pointers(&arguments);
  const std::vector<char*> envp = Pointers(&environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Fail(ErrorCode::kUnavailable, std::string("cannot start a process: ") + strerror(errno));
  }
  if (pid == 0) {
    RunChild(argv.data(), envp.data(), parent, output_.write_end(), exec_error.write_end());
  }
  pid_ = pid;
  setpgid(pid, pid);  // the child does the same; the order does not matter
  output_.CloseWriteEnd();
  exec_error.CloseWriteEnd();
  reader_ = std::thread(&Impl::ReadOutput, this);

  int error = 0;
  if (read(exec_error.read_end(), &error, sizeof(error)) == sizeof(error)) {
    return Fail(ErrorCode::kUnavailable, "cannot run " + options_.argv[0] + ": " + strerror(error));
  }
  return {};
}

Status ServerProcess::Impl::WaitUntilReady() {
  const auto deadline = steady_clock::now() + milliseconds(options_.start_timeout_ms);
  for (;;) {
    if (const std::optional<int> code = Reap()) {
      StopReading();
      return tl::unexpected<Error>(
          NotReady("ended with code " + std::to_string(*code) + " before it was ready"));
    }
    // A TLS server prints its port when it is ready, and HttpClient could not query it.
    if (speaks_tls_.load()) return {};
    if (url_port_known_.load()) {
      const HttpClient client("http://127.0.0.1:" + std::to_string(port()),
                              {.timeout_ms = 2000, .headers = {}});
      const Result<HttpReply> reply = client.Get(options_.health_path);
      if (reply && reply->status == 200) return {};
    }
    if (steady_clock::now() >= deadline) {
      const std::string seconds = std::to_string(options_.start_timeout_ms / 1000.0);
      return tl::unexpected<Error>(
          NotReady("was not ready within " + seconds.substr(0, seconds.find('.') + 2) + " s" +
                   (url_port_known_.load() ? "" : " and did not say on which port it listens")));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

Error ServerProcess::Impl::NotReady(const std::string& what) const {
  const std::string lines = LastLines(20);
  return {ErrorCode::kUnavailable,
          options_.argv[0] + " " + what + "; " +
              (lines.empty() ? "it said nothing" : "its last lines:\n" + lines)};
}

void ServerProcess::Impl::ReadOutput() {
  char buffer[4096];
  for (;;) {
    pollfd fds[] = {{output_.read_end(), POLLIN, 0}, {reader_stop_.read_end(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) {
      const ssize_t n = read(output_.read_end(), buffer, sizeof(buffer));
      if (n > 0) {
        TakeOutput(std::string_view(buffer, static_cast<size_t>(n)));
        continue;  // pending output is read before a stop takes effect
      }
      if (n == 0) break;
    }
    if (fds[1].revents != 0) break;
  }
  if (!line_.empty()) EndLine();
}

void ServerProcess::Impl::TakeOutput(std::string_view bytes) {
  if (log_.is_open()) {
    log_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    log_.flush();
  }
  for (const char c : bytes) {
    if (c != '\n') line_.push_back(c);
    if (c == '\n' || line_.size() >= kLineBytesMax) EndLine();
  }
}

void ServerProcess::Impl::EndLine() {
  if (!url_port_known_.load()) {
    const int port = PortIn(line_);
    if (port != 0) {
      port_.store(port);
      speaks_tls_.store(line_.find("https://127.0.0.1:") != std::string::npos);
      url_port_known_.store(true);
    }
  }
  const std::lock_guard<std::mutex> lock(lines_mutex_);
  lines_.push_back(std::exchange(line_, {}));
  if (lines_.size() > kLinesKept) lines_.pop_front();
}

void ServerProcess::Impl::StopReading() {
  reader_stop_.CloseWriteEnd();
  if (reader_.joinable()) reader_.join();
}

std::string ServerProcess::Impl::LastLines(size_t lines_max) const {
  const std::lock_guard<std::mutex> lock(lines_mutex_);
  std::string text;
  const size_t first = lines_.size() > lines_max ? lines_.size() - lines_max : 0;
  for (size_t i = first; i < lines_.size(); ++i) text += lines_[i] + "\n";
  return text;
}

std::optional<int> ServerProcess::Impl::Reap() {
  const std::lock_guard<std::mutex> lock(exit_mutex_);
  if (exit_code_) return exit_code_;
  int status = 0;
  const pid_t reaped = waitpid(pid_, &status, WNOHANG);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return std::nullopt;
  if (reaped < 0) {
    exit_code_ = -1;  // the process was waited for elsewhere
  } else {
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  kill(-pid_, SIGKILL);  // kills remaining processes of its group
  return exit_code_;
}

std::optional<int> ServerProcess::Impl::WaitForExit(int timeout_ms) {
  const auto deadline = steady_clock::now() + milliseconds(timeout_ms);
  for (;;) {
    if (const std::optional<int> code = Reap()) return code;
    if (steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kPollInterval);
  }
}

void ServerProcess::Impl::Signal(int number) {
  // Under the lock, so that the signal cannot reach a new process with the same id.
  const std::lock_guard<std::mutex> lock(exit_mutex_);
  if (!exit_code_) kill(pid_, number);
}

int ServerProcess::Impl::Stop() {
  Signal(SIGTERM);
  std::optional<int> code = WaitForExit(options_.stop_grace_ms);
  while (!code) {
    Signal(SIGKILL);
    code = WaitForExit(1000);
  }
  StopReading();
  return *code;
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::Start(ServerProcessOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (Status launched = impl->Launch(); !launched) return tl::unexpected<Error>(launched.error());
  if (Status ready = impl->WaitUntilReady(); !ready) return tl::unexpected<Error>(ready.error());
  return std::unique_ptr<ServerProcess>(new ServerProcess(std::move(impl)));
}

ServerProcess::ServerProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ServerProcess::~ServerProcess() = default;

int ServerProcess::Stop() {
  return impl_->Stop();
}

void ServerProcess::Signal(int number) {
  impl_->Signal(number);
}

std::optional<int> ServerProcess::exit_code() {
  return impl_->Reap();
}

std::optional<int> ServerProcess::WaitForExit(int timeout_ms) {
  return impl_->WaitForExit(timeout_ms);
}

int ServerProcess::port() const {
  return impl_->port();
}

std::string ServerProcess::url() const {
  return "http://127.0.0.1:" + std::to_string(port());
}

int ServerProcess::pid() const {
  return impl_->pid();
}

std::string ServerProcess::LastLines(size_t lines_max) const {
  return impl_->LastLines(lines_max);
}

}  // namespace cairn
