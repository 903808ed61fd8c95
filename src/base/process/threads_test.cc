#include "base/process/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#ifdef __linux__
#endif

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

TEST(TryWork, ReturnsWhatIsThrownAsAnError) {
  EXPECT_TRUE(TryWork([] {}));
  const Status memory = TryWork([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(memory.error().message, "out of memory");
  const Status other = TryWork([] { throw std::length_error("a vector that is too long"); });
  EXPECT_EQ(other.error().code, ErrorCode::kInternal);
  EXPECT_EQ(other.error().message, "a vector that is too long");
  EXPECT_EQ(TryWork([] { throw 1; }).error().code, ErrorCode::kInternal);
}

TEST(TryWork, AThreadGoesOnAfterAPieceOfWorkThatThrows) {
  int done = 0;
  std::thread thread([&] {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(TryWork([&] {
        ++done;
        throw std::bad_alloc();
      }));
    }
  });
  thread.join();
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace cairn
