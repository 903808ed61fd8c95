#include "cmd/serve/stop/run_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <utility>

namespace cairn::run_server_test {
namespace {

constexpr int kPatienceS = 60;

// Neither it nor its destructor returns before its functions do.
class TestServer {
 public:
  TestServer(std::function<Status()> run, std::function<void()> end)
      : run_(std::move(run)), end_(std::move(end)) {}
  ~TestServer() { end_(); }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  const ServerLog& log() const { return log_; }
  EndLimits end_limits() const { return {.stop_ms = 50, .end_ms = 50}; }
  Status Run() { return run_(); }
  void Reload() {}
  void StopOnSignal(int) {}

 private:
  const ServerLog log_{LogFormat::kHuman, LogLevel::kInfo};
  const std::function<Status()> run_;
  const std::function<void()> end_;
};

void Hang() {
  sleep(kPatienceS);
}

// As a command does: the server ends after RunServer.
[[noreturn]] void Serve(std::function<Status()> run, std::function<void()> end) {
  int code = 0;
  {
    TestServer server(std::move(run), std::move(end));
    code = RunServer(&server);
  }
  std::_Exit(code + 40);  // it came back
}

class RunServerDeathTest : public testing::Test {
 protected:
  RunServerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RunServerDeathTest, AHandlerThatNeverReturnsDoesNotKeepAServerThatHasSaved) {
  EXPECT_EXIT(Serve([] { return Status(); }, Hang), testing::ExitedWithCode(0),
              "does not come back: .*what was worth saving is saved");
}

TEST_F(RunServerDeathTest, AFailureIsTheExitCodeAlthoughTheEndHangs) {
  const auto fail = [] { return Fail(ErrorCode::kUnavailable, "the port is in use"); };
  EXPECT_EXIT(Serve([fail]() -> Status { return fail(); }, Hang), testing::ExitedWithCode(1),
              "the port is in use");
}

TEST_F(RunServerDeathTest, AModelThatNeverComesBackDoesNotKeepTheProcessPastTheStopsLimit) {
  const auto run = [] {
    kill(getpid(), SIGTERM);
    Hang();
    return Status();
  };
  EXPECT_EXIT(Serve(run, [] {}), testing::ExitedWithCode(1), "unsaved state is lost");
}

TEST_F(RunServerDeathTest, AServerThatEndsInTimeReturnsItsCode) {
  EXPECT_EXIT(Serve([] { return Status(); }, [] {}), testing::ExitedWithCode(40), "");
}

}  // namespace
}  // namespace cairn::run_server_test
