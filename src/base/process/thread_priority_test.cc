#include "base/process/thread_priority.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <thread>

namespace cairn {
namespace {

#ifdef __linux__
int Niceness() {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
}

TEST(ThreadPriority, IsLoweredForTheCallingThreadAlone) {
  const int before = Niceness();
  int lowered = 0;
  std::thread([&] {
    LowerThreadPriority();
    lowered = Niceness();
  }).join();
  EXPECT_GT(lowered, before);
  EXPECT_EQ(Niceness(), before);
}
#else
TEST(ThreadPriority, IsLeftAloneOnThisSystem) {
  LowerThreadPriority();
  SUCCEED();
}
#endif

}  // namespace
}  // namespace cairn
