#include "fleet/router/children/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

namespace cairn::child_process_test {
namespace {

constexpr std::chrono::seconds kPatience(60);

// Runs a script of the shell and keeps what the callbacks are told.
class Watched {
 public:
  explicit Watched(const std::string& script)
      : Watched(std::vector<std::string>{"/bin/sh", "-c", script}) {}
  explicit Watched(std::vector<std::string> argv) {
    ChildCallbacks callbacks;
    callbacks.on_line = [this](std::string_view line) {
      Change([&] { lines_ += std::string(line) + "|"; });
    };
    callbacks.on_ready = [this](int port) { Change([&] { port_ = port; }); };
    callbacks.on_end = [this](const ChildEnd& end) { Change([&] { end_ = end; }); };
    child_ = std::make_unique<ChildProcess>(ChildCommand{std::move(argv), {"PATH=/usr/bin:/bin"}},
                                            std::move(callbacks));
  }

  ChildProcess& child() { return *child_; }
  void Destroy() { child_.reset(); }
  std::string lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  int WaitUntilReady() {
    Wait([this] { return port_ != 0; });
    return port_;
  }
  ChildEnd WaitForEnd() {
    Wait([this] { return end_.has_value(); });
    return end_.value_or(ChildEnd{-1, "it did not end"});
  }
  void WaitForLine(const std::string& line) {
    Wait([&] { return lines_.find(line + "|") != std::string::npos; });
  }

 private:
  template <typename Function>
  void Change(const Function& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change();
    changed_.notify_all();
  }
  template <typename Condition>
  void Wait(const Condition& condition) {
    std::unique_lock<std::mutex> lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, condition)) << lines_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;
  int port_ = 0;
  std::optional<ChildEnd> end_;
  std::unique_ptr<ChildProcess> child_;
};

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

TEST(ChildProcess, PassesOnTheLinesOfBothOutputs) {
  Watched child("echo one; echo two >&2; printf three");
  EXPECT_EQ(child.WaitForEnd().how, "it exited with code 0");
  EXPECT_EQ(child.lines(), "one|two|three|");
}

TEST(ChildProcess, SaysHowItEnded) {
  EXPECT_EQ(Watched("exit 3").WaitForEnd().exit_code, 3);
  const ChildEnd end = Watched("kill -9 $$").WaitForEnd();
  EXPECT_EQ(end.exit_code, 137);
  EXPECT_EQ(end.how, "signal 9 ended it");
}

TEST(ChildProcess, SaysThatAProgramIsMissing) {
  const ChildEnd end = Watched(std::vector<std::string>{"/absent/program"}).WaitForEnd();
  EXPECT_EQ(end.exit_code, 127);
  EXPECT_EQ(end.how, "cannot run /absent/program: No such file or directory");
}

TEST(ChildProcess, ReadsThePortFromTheReadyLine) {
  Watched child("echo '12:00 info ready after 1.5 s: http://127.0.0.1:4321'; exec sleep 60");
  EXPECT_EQ(child.WaitUntilReady(), 4321);
}

TEST(ChildProcess, KnowsReadyLinesOfBothLogFormats) {
  EXPECT_EQ(PortOfReadyLine("11:12 info ready after 1.5 s: http://127.0.0.1:8080"), 8080);
  EXPECT_EQ(PortOfReadyLine(R"({"message":"ready after 0.1 s: http://127.0.0.1:9"})"), 9);
  EXPECT_EQ(PortOfReadyLine("loading http://127.0.0.1:8080"), 0);
  EXPECT_EQ(PortOfReadyLine("ready after 1 s: http://127.0.0.1:99999"), 0);
  EXPECT_EQ(PortOfReadyLine("ready after 1 s: http://127.0.0.1:x"), 0);
  EXPECT_EQ(PortOfReadyLine("ready after a while"), 0);
}

TEST(ChildProcess, ReceivesSignals) {
  Watched child("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done");
  child.WaitForLine("up");
  child.child().Signal(SIGTERM);
  EXPECT_EQ(child.WaitForEnd().exit_code, 0);
  EXPECT_EQ(child.lines(), "up|saved|");
  child.child().Signal(SIGTERM);  // it has ended: nobody gets it
}

TEST(ChildProcess, IsKilledWithItsObject) {
  Watched child("trap '' TERM; echo $$; while :; do sleep 0.05; done");
  while (child.lines().empty()) usleep(1000);
  const pid_t pid = std::stoi(child.lines());
  EXPECT_EQ(kill(pid, 0), 0);
  child.Destroy();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(ChildProcess, EndsThoughAGrandchildHoldsItsOutput) {
  Watched child("sleep 100 & echo up; exit 5");
  EXPECT_EQ(child.WaitForEnd().exit_code, 5);
}

TEST(ChildProcess, LeavesNeitherProcessesNorDescriptors) {
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 20; ++i) Watched("sleep 100 & exec sleep 100");
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace cairn::child_process_test
