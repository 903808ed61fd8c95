#include "media/decode/decode_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#ifndef CAIRN_SANITIZED  // sanitizers get neither the filter nor the limit of memory

namespace cairn {
namespace {

constexpr Confinement kSmall = {.memory_bytes = 64 << 20, .cpu_seconds = 1};

// Ended by the filter of system calls; or, on a kernel without one, by the call's failure.
bool EndedOrRefused(int status) {
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSYS;
  return WEXITSTATUS(status) == 0;
}
bool EndedForItsTime(int status) {
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
}

[[noreturn]] void ExitWith(bool passed) {
  _exit(passed ? 0 : 1);
}

TEST(ConfineProcessDeathTest, LeavesNoWayToOpenAFileOrASocket) {
  EXPECT_EXIT(ExitWith(ConfineProcess(kSmall) && open("/dev/null", O_RDONLY) < 0), EndedOrRefused,
              "");
  EXPECT_EXIT(ExitWith(ConfineProcess(kSmall) && socket(AF_INET, SOCK_STREAM, 0) < 0),
              EndedOrRefused, "");
}

TEST(ConfineProcessDeathTest, LeavesNoWayToStartAProgram) {
  char path[] = "/bin/true";
  char* const argv[] = {path, nullptr};
  EXPECT_EXIT(
      {
        const bool confined = ConfineProcess(kSmall);
        execv(path, argv);
        ExitWith(!confined);
      },
      [](int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS; }, "");
}

// A process of the same user that waits to be ended.
class Bystander {
 public:
  Bystander() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~Bystander() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

TEST(ConfineProcessDeathTest, LeavesNoWayToSignalAnotherProcess) {
  const Bystander bystander;
  const auto ended = [](int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS; };
  for (const long call : {SYS_tgkill, SYS_tkill, SYS_kill, SYS_rt_sigqueueinfo}) {
    EXPECT_EXIT(
        {
          const bool confined = ConfineProcess(kSmall);
          syscall(call, bystander.pid(), call == SYS_tgkill ? bystander.pid() : SIGKILL, SIGKILL);
          ExitWith(!confined);
        },
        ended, "")
        << "system call " << call;
  }
  EXPECT_EQ(waitpid(bystander.pid(), nullptr, WNOHANG), 0) << "it was ended";
}

TEST(ConfineProcessDeathTest, LeavesAbort) {
  EXPECT_EXIT(
      {
        ConfineProcess(kSmall);
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

TEST(ConfineProcessDeathTest, LeavesReadingWritingAndAllocating) {
  EXPECT_EXIT(
      {
        const bool confined = ConfineProcess(kSmall);
        void* const memory = std::malloc(size_t{32} << 20U);
        char byte = 0;
        ExitWith(confined && memory != nullptr && read(STDIN_FILENO, &byte, 0) == 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ConfineProcessDeathTest, EndsAProcessThatComputesForTooLong) {
  EXPECT_EXIT(
      {
        ConfineProcess(kSmall);
        volatile unsigned turns = 0;
        for (;;) turns = turns + 1;
      },
      EndedForItsTime, "");
}

TEST(ConfineProcessDeathTest, LimitsMemory) {
  EXPECT_EXIT(
      {
        const bool confined = ConfineProcess(kSmall);
        ExitWith(confined && std::malloc(size_t{128} << 20U) == nullptr);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cairn

#endif  // CAIRN_SANITIZED
