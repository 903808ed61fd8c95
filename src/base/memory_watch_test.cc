#include "base/memory_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMib = uint64_t{1} << 20;

class MemoryWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("cairn_memory_watch_" + std::to_string(getpid()));
    fs::remove_all(root_);
    Write("proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 1 kB\nMemAvailable:  524288 kB\n");
    Write("proc/self/cgroup", "0::/\n");
    sources_.proc = root_ / "proc";
    sources_.cgroups = root_ / "cgroup";
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  MemoryRoom Look() const { return MakeMemoryWatch(sources_)->Look(); }

  fs::path root_;
  MemorySources sources_;
};

TEST_F(MemoryWatchTest, WithoutLimitsItIsWhatTheMachineHas) {
  const MemoryRoom room = Look();
  EXPECT_EQ(room.limit_bytes, 1024 * kMib);
  EXPECT_EQ(room.left_bytes, 512 * kMib);
  EXPECT_EQ(room.why, "the machine's memory");
  EXPECT_FALSE(room.refused);
}

TEST_F(MemoryWatchTest, TheTightestGroupCountsAndFilesThatCouldBeDroppedDoNot) {
  Write("proc/self/cgroup", "0::/system.slice/cairn.service\n");
  Write("cgroup/system.slice/cairn.service/memory.max", "max\n");
  Write("cgroup/system.slice/cairn.service/memory.high", "268435456\n");
  Write("cgroup/system.slice/cairn.service/memory.current", "209715200\n");
  Write("cgroup/system.slice/cairn.service/memory.stat", "anon 1\ninactive_file 104857600\n");
  Write("cgroup/system.slice/memory.max", "536870912\n");
  Write("cgroup/system.slice/memory.current", "524288000\n");
  MemoryRoom room = Look();
  EXPECT_EQ(room.limit_bytes, 256 * kMib);
  EXPECT_EQ(room.left_bytes, 12 * kMib) << "the slice above is nearly full";
  EXPECT_EQ(room.why, "the control group's memory limit");
  Write("cgroup/system.slice/memory.current", "104857600\n");
  room = Look();
  EXPECT_EQ(room.left_bytes, (256 - 100) * kMib);
}

TEST_F(MemoryWatchTest, InAContainerTheUpperPartOfThePathIsNotThere) {
  Write("proc/self/cgroup", "0::/docker/0123456789\n");
  Write("cgroup/memory.max", "134217728\n");
  Write("cgroup/memory.current", "33554432\n");
  EXPECT_EQ(Look().limit_bytes, 128 * kMib);
  EXPECT_EQ(Look().left_bytes, 96 * kMib);
}

TEST_F(MemoryWatchTest, GroupsOfTheOlderKindCountToo) {
  Write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/box\n0::/\n");
  Write("cgroup/memory/box/memory.limit_in_bytes", "67108864\n");
  Write("cgroup/memory/box/memory.usage_in_bytes", "50331648\n");
  Write("cgroup/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 16777216\n");
  Write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Look().limit_bytes, 64 * kMib);
  EXPECT_EQ(Look().left_bytes, 32 * kMib);
}

TEST_F(MemoryWatchTest, WhatUlimitAllowsCounts) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto pages = [&](uint64_t mib) { return std::to_string(mib * kMib / page); };
  Write("proc/self/statm", pages(300) + " 1 1 1 0 " + pages(100) + " 0\n");
  sources_.address_bytes_max = 320 * kMib;
  MemoryRoom room = Look();
  EXPECT_EQ(room.limit_bytes, 320 * kMib);
  EXPECT_GE(room.left_bytes, 20 * kMib);
  EXPECT_LT(room.left_bytes, 60 * kMib) << "what malloc holds and nobody uses is on top";
  EXPECT_EQ(room.why, "ulimit -v");
  sources_.data_bytes_max = 101 * kMib;
  room = Look();
  EXPECT_LT(room.left_bytes, 20 * kMib);
  EXPECT_EQ(room.why, "ulimit -d");
}

TEST_F(MemoryWatchTest, AnAllocationThatFailsIsHeardOfAndWhatIsKeptBackMakesItGood) {
  const auto watch = MakeMemoryWatch(sources_, 8 * kMib);
  EXPECT_FALSE(watch->Look().refused);
  std::new_handler handler = std::get_new_handler();
  ASSERT_NE(handler, nullptr);
  handler();  // as the language does
  EXPECT_THROW(handler(), std::bad_alloc) << "there is nothing more to be given";
  EXPECT_TRUE(watch->Look().refused);
  EXPECT_FALSE(watch->Look().refused);
  handler();
}

TEST_F(MemoryWatchTest, OfThisProcessItIsANumber) {
  const MemoryRoom room = MakeMemoryWatch(SystemMemorySources())->Look();
  EXPECT_GT(room.limit_bytes, kMib);
  EXPECT_LT(room.limit_bytes, UINT64_MAX);
  EXPECT_LE(room.left_bytes, room.limit_bytes);
}

TEST(HeapUsedBytes, GrowsByAnAllocationAndShrinksWhenItIsFreed) {
  constexpr size_t kBytes = size_t{64} << 20;
  const uint64_t before = HeapUsedBytes();
  auto block = std::make_unique<std::vector<char>>(kBytes);
  EXPECT_GE(HeapUsedBytes(), before + kBytes - (size_t{1} << 20));
  block.reset();
  EXPECT_LT(HeapUsedBytes(), before + (size_t{1} << 20));
}

}  // namespace
}  // namespace cairn
