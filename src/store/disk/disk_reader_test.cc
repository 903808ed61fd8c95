#include "store/disk/disk_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

namespace cairn {
namespace {

ObjectName Name(uint64_t number) {
  return {number, number};
}

// A disk that reads only when the test lets it.
class Gate {
 public:
  Result<Bytes> Read(const ObjectName& name) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    if (name == Name(0)) return Fail(ErrorCode::kNotFound, "it is gone");
    return Bytes{1, 2, 3};
  }
  void Open() {
    const std::lock_guard<std::mutex> guard(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wake() {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++wakes_;
    changed_.notify_all();
  }
  void WaitForWakes(int wakes) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return wakes_ >= wakes; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int wakes_ = 0;
};

TEST(DiskReader, ThatHasOneThreadGivesResultsInTheOrderOfTheRequestsAndWakesAfterEach) {
  Gate gate;
  DiskReader reader(
      1, [&](const ObjectName& name) { return gate.Read(name); }, [&] { gate.Wake(); });
  for (const uint64_t number : {5, 0, 7}) reader.Start(Name(number));
  EXPECT_TRUE(reader.TakeResults().empty()) << "nothing was read";
  gate.Open();
  gate.WaitForWakes(3);
  const DiskReader::Results results = reader.TakeResults();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].first, Name(5));
  EXPECT_EQ(*results[0].second, (Bytes{1, 2, 3}));
  EXPECT_EQ(results[1].first, Name(0));
  EXPECT_EQ(results[1].second.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(results[2].first, Name(7));
  EXPECT_TRUE(reader.TakeResults().empty()) << "each is given once";
}

TEST(DiskReader, AReadThatThrowsIsAnErrorAndTheNextOneIsRead) {
  Gate gate;
  const auto read = [](const ObjectName& name) -> Result<Bytes> {
    if (name == Name(1)) throw std::bad_alloc();
    return Bytes{1};
  };
  DiskReader reader(1, read, [&] { gate.Wake(); });
  reader.Start(Name(1));
  reader.Start(Name(2));
  gate.WaitForWakes(2);
  const DiskReader::Results results = reader.TakeResults();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].second.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(results[1].second);
}

TEST(DiskReader, ThatHasTwoThreadsReadsTwoObjectsAtATime) {
  std::mutex mutex;
  std::condition_variable changed;
  int reading = 0;
  const auto read = [&](const ObjectName&) -> Result<Bytes> {
    std::unique_lock<std::mutex> lock(mutex);
    ++reading;
    changed.notify_all();
    const bool both =
        changed.wait_for(lock, std::chrono::seconds(30), [&] { return reading == 2; });
    if (!both) return Fail(ErrorCode::kInternal, "the other read did not begin");
    return Bytes{1};
  };
  Gate gate;
  DiskReader reader(2, read, [&] { gate.Wake(); });
  reader.Start(Name(1));
  reader.Start(Name(2));
  gate.WaitForWakes(2);
  const DiskReader::Results results = reader.TakeResults();
  ASSERT_EQ(results.size(), 2u);
  for (const auto& [name, bytes] : results) EXPECT_TRUE(bytes) << bytes.error().message;
}

}  // namespace
}  // namespace cairn
