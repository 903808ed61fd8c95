#include "http/heap_trim.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr size_t kLarge = size_t{1} << 20U;

// Counts the trims, without a delay.
class HeapTrimTest : public ::testing::Test {
 protected:
  HeapTrimOptions Options(milliseconds interval) {
    HeapTrimOptions options;
    options.delay = milliseconds(0);
    options.interval = interval;
    options.trim = [this] { ++trims_; };
    return options;
  }
  void AwaitTrims(int count) const {
    while (trims_ < count) std::this_thread::yield();
  }

  std::atomic<int> trims_ = 0;
};

TEST_F(HeapTrimTest, ALargeRequestIsFollowedByATrim) {
  HeapTrim trim(Options(milliseconds(0)));
  trim.OnRequestEnd(kLarge);
  AwaitTrims(1);
  trim.OnRequestEnd(kLarge);
  AwaitTrims(2);
}

TEST_F(HeapTrimTest, SmallRequestsAreNot) {
  {
    HeapTrim trim(Options(milliseconds(0)));
    for (int i = 0; i < 1000; ++i) trim.OnRequestEnd(kLarge - 1);
    trim.OnRequestEnd(kLarge);
    AwaitTrims(1);
    for (int i = 0; i < 1000; ++i) trim.OnRequestEnd(kLarge - 1);
  }
  EXPECT_EQ(trims_, 1);
}

TEST_F(HeapTrimTest, ManyLargeRequestsShareATrim) {
  {
    HeapTrim trim(Options(hours(1)));
    trim.OnRequestEnd(kLarge);
    AwaitTrims(1);
    for (int i = 0; i < 1000; ++i) trim.OnRequestEnd(kLarge);
  }
  EXPECT_EQ(trims_, 1);
}

TEST_F(HeapTrimTest, ItsEndDoesNotWaitForTheDelay) {
  HeapTrimOptions options = Options(hours(1));
  options.delay = hours(1);
  {
    HeapTrim trim(std::move(options));
    trim.OnRequestEnd(kLarge);
  }
  EXPECT_EQ(trims_, 0);
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(HeapTrimTest, TheSystemGetsBackWhatTheAllocatorKept) {
  constexpr size_t kPieceBytes = size_t{16} << 10U;
  constexpr size_t kPieces = 4096;
  std::vector<std::unique_ptr<std::vector<char>>> pieces;
  pieces.reserve(kPieces);
  for (size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::make_unique<std::vector<char>>(kPieceBytes, 'x'));
  }
  // What lies behind them keeps the allocator from returning them by itself.
  const std::vector<char> last(kPieceBytes, 'x');
  pieces.clear();
  const uint64_t before_bytes = ResidentBytes();
  std::atomic<bool> trimmed = false;
  HeapTrimOptions options = Options(milliseconds(0));
  options.trim = [&trimmed] {
    ReturnFreedMemory();
    trimmed = true;
  };
  HeapTrim trim(std::move(options));
  trim.OnRequestEnd(kLarge);
  while (!trimmed) std::this_thread::yield();
  EXPECT_LT(ResidentBytes() + kPieces * kPieceBytes / 2, before_bytes);
  EXPECT_EQ(last.back(), 'x');
}

}  // namespace
}  // namespace cairn
