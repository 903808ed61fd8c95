#include "base/process/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// The standard output of a shell command, and its status as of waitpid.
struct Said {
  std::string text;
  int status = 0;
};

Said Shell(const std::string& command, std::vector<std::string> environment = {}) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto pid =
      SpawnChild({"/bin/sh", "-c", command}, std::move(environment), {.output = ends[1]});
  close(ends[1]);
  Said said;
  EXPECT_TRUE(pid.has_value()) << pid.error().message;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    said.text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  if (pid) {
    EXPECT_EQ(waitpid(*pid, &said.status, 0), *pid);
  }
  return said;
}

TEST(SpawnChild, GetsItsStreamsAndItsEnvironmentAndNoOther) {
  EXPECT_EQ(Shell("echo $A$HOME; cat; echo no >&2", {"A=b"}).text, "b\n");
}

TEST(SpawnChild, InheritsNoDescriptor) {
  const int open_here = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GT(open_here, STDERR_FILENO);
  const std::string number = std::to_string(open_here);
  EXPECT_EQ(Shell("[ -e /proc/self/fd/" + number + " ] || echo none").text, "none\n");
  close(open_here);
}

TEST(SpawnChild, InheritsNoBlockedOrIgnoredSignal) {
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &block, &before), 0);
  const auto handler = signal(SIGTERM, SIG_IGN);
  const Said said = Shell("kill -TERM $$; echo alive");
  signal(SIGTERM, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(said.text, "");
  EXPECT_EQ(HowChildEnded(said.status), "signal 15 ended it");
}

TEST(SpawnChild, LeadsAProcessGroupOfItsOwn) {
  EXPECT_EQ(Shell("read -r pid name state parent group rest </proc/self/stat; "
                  "[ $group = $$ ] && echo own")
                .text,
            "own\n");
}

TEST(SpawnChild, SaysHowItEnded) {
  EXPECT_EQ(HowChildEnded(Shell("exit 3").status), "it exited with code 3");
}

TEST(SpawnChild, AProgramThatIsNotThereIsAnErrorThatNamesIt) {
  const auto pid = SpawnChild({"/no/such/program"}, {}, {});
  ASSERT_FALSE(pid.has_value());
  EXPECT_EQ(pid.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(pid.error().message.find("cannot run /no/such/program"), std::string::npos);
}

TEST(OwnProgram, IsItsFileOrTheLauncherThatStartedIt) {
  ASSERT_EQ(unsetenv("CAIRN_LAUNCHER"), 0);
  EXPECT_TRUE(std::filesystem::equivalent(OwnProgram(), "/proc/self/exe"));
  ASSERT_EQ(setenv("CAIRN_LAUNCHER", "/unpacked/cairn", 1), 0);
  EXPECT_EQ(OwnProgram(), "/unpacked/cairn");
  ASSERT_EQ(unsetenv("CAIRN_LAUNCHER"), 0);
}

}  // namespace
}  // namespace cairn
