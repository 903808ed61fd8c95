#include "lab/client/server_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

ServerProcessOptions Shell(const std::string& script) {
  ServerProcessOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.start_timeout_ms = kPatienceMs;
  return options;
}

std::string FailureOf(ServerProcessOptions options) {
  Result<std::unique_ptr<ServerProcess>> server = ServerProcess::Start(std::move(options));
  return server ? "started" : server.error().message;
}

// The child is a shell that prints the address of a server; that server runs in this process.
class ServerProcessTest : public HttpServerTest {
 protected:
  void StartHealthy() {
    MakeServer().Handle("GET", "/health", [this](const HttpRequest&) {
      HttpResponse response = Text("{}");
      response.status = ++asked_ < 3 ? 503 : 200;  // the first two probes find it loading
      return response;
    });
    StartServer();
  }
  std::string SayPort() const {
    return "echo listening on http://127.0.0.1:" + std::to_string(server_->port()) + "; ";
  }

  std::atomic<int> asked_ = 0;
};

TEST_F(ServerProcessTest, WaitsUntilTheServerIsHealthy) {
  StartHealthy();
  auto server = ServerProcess::Start(Shell("echo loading; " + SayPort() + "exec sleep 1000"));
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->port(), server_->port());
  EXPECT_EQ((*server)->url(), "http://127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_GE(asked_, 3);
  EXPECT_TRUE((*server)->LastLines().starts_with("loading\nlistening on http://127.0.0.1:"));
  EXPECT_FALSE((*server)->exit_code());
  EXPECT_EQ((*server)->Stop(), 128 + SIGTERM);
  EXPECT_EQ((*server)->exit_code(), 128 + SIGTERM);
  EXPECT_EQ((*server)->Stop(), 128 + SIGTERM) << "stopping twice is harmless";
}

TEST_F(ServerProcessTest, TakesAGivenPort) {
  StartHealthy();
  ServerProcessOptions options = Shell("exec sleep 1000");
  options.port = server_->port();
  auto server = ServerProcess::Start(options);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->port(), server_->port());
}

TEST_F(ServerProcessTest, StopGivesTheServersOwnExitCode) {
  StartHealthy();
  auto server = ServerProcess::Start(
      Shell("trap 'echo bye; exit 7' TERM; " + SayPort() + "while :; do sleep 0.01; done"));
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->Stop(), 7);
  EXPECT_TRUE((*server)->LastLines(1) == "bye\n") << (*server)->LastLines();
}

TEST_F(ServerProcessTest, KillsAServerThatWillNotStop) {
  StartHealthy();
  ServerProcessOptions options =
      Shell("trap '' TERM; " + SayPort() + "while :; do sleep 0.01; done");
  options.stop_grace_ms = 50;
  auto server = ServerProcess::Start(options);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->Stop(), 128 + SIGKILL);
}

TEST_F(ServerProcessTest, TheDestructorEndsTheServerAndWhatItStarted) {
  StartHealthy();
  int pid = 0;
  {
    auto server = ServerProcess::Start(Shell("sleep 1000 & " + SayPort() + "wait"));
    ASSERT_TRUE(server) << server.error().message;
    pid = (*server)->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  // The process that adopted the grandchild may take a moment to reap it.
  EXPECT_TRUE(Eventually([&] { return kill(-pid, 0) == -1 && errno == ESRCH; }));
}

TEST_F(ServerProcessTest, SurvivesAServerThatDies) {
  StartHealthy();
  auto server = ServerProcess::Start(Shell(SayPort() + "exec sleep 1000"));
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_FALSE((*server)->WaitForExit(0));
  (*server)->Signal(SIGKILL);
  EXPECT_EQ((*server)->WaitForExit(kPatienceMs), 128 + SIGKILL);
  EXPECT_EQ((*server)->Stop(), 128 + SIGKILL);
}

TEST_F(ServerProcessTest, PassesTheEnvironmentAndWritesTheLog) {
  StartHealthy();
  const std::string log = testing::TempDir() + "cairn_server_process_" + std::to_string(getpid());
  ServerProcessOptions options = Shell("echo \"said $CAIRN_X\"; " + SayPort() + "exec sleep 1000");
  options.environment = {{"CAIRN_X", "a=b"}};
  options.log_path = log;
  auto server = ServerProcess::Start(options);
  ASSERT_TRUE(server) << server.error().message;
  (*server)->Stop();
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  EXPECT_EQ(text.str(), (*server)->LastLines());
  EXPECT_TRUE(text.str().starts_with("said a=b\n")) << text.str();
  std::remove(log.c_str());
}

TEST(ServerProcess, ShowsTheLastLinesOfAServerThatEndsAtOnce) {
  EXPECT_EQ(FailureOf(Shell("echo first; echo 'no such model' >&2; exit 3")),
            "/bin/sh ended with code 3 before it was ready; its last lines:\n"
            "first\nno such model\n");
  EXPECT_EQ(FailureOf(Shell("kill -9 $$")),
            "/bin/sh ended with code 137 before it was ready; it said nothing");
}

TEST(ServerProcess, ShowsOnlyTheLastOfManyLines) {
  const std::string failure =
      FailureOf(Shell("i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; printf 'no "
                      "line end'; exit 1"));
  EXPECT_TRUE(failure.ends_with("line 998\nline 999\nno line end\n")) << failure;
  EXPECT_TRUE(failure.find("line 900\n") == std::string::npos);
}

TEST(ServerProcess, SaysThatAServerWasNotReadyInTime) {
  ServerProcessOptions options = Shell("echo loading; exec sleep 1000");
  options.start_timeout_ms = 300;
  const std::string failure = FailureOf(options);
  EXPECT_TRUE(failure.starts_with(
      "/bin/sh was not ready within 0.3 s and did not say on which port it listens; "))
      << failure;
}

TEST(ServerProcess, SaysThatAProgramCannotBeRun) {
  ServerProcessOptions missing;
  missing.argv = {"/no/such/program"};
  EXPECT_EQ(FailureOf(missing), "cannot run /no/such/program: No such file or directory");
  EXPECT_EQ(FailureOf({}), "no program was named to run as a server");
  ServerProcessOptions options = Shell("exit 0");
  options.log_path = "/no/such/folder/log";
  EXPECT_EQ(FailureOf(options), "cannot write the log file /no/such/folder/log");
}

TEST(ServerProcess, EndsWithTheThreadThatStartedIt) {
  // A thread stands in for the whole process: to Linux it is the child's parent.
  Result<std::unique_ptr<ServerProcess>> server = Fail(ErrorCode::kInternal, "not started");
  HttpServerOptions options;
  options.port = 0;
  options.error_body = [](int, std::string_view, std::string_view) { return std::string(); };
  HttpServer healthy(options);
  healthy.Handle("GET", "/health", [](const HttpRequest&) { return Text("{}"); });
  ASSERT_TRUE(healthy.Bind());
  std::thread serving([&] { healthy.Serve(); });
  std::thread starter([&] {
    ServerProcessOptions child = Shell("exec sleep 1000");
    child.port = healthy.port();
    server = ServerProcess::Start(child);
  });
  starter.join();
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ((*server)->WaitForExit(kPatienceMs), 128 + SIGTERM);
  healthy.Stop();
  serving.join();
}

}  // namespace
}  // namespace cairn
