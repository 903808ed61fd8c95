#include "store/disk/disk_reader.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

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

TEST(DiskReader, GivesResultsInTheOrderOfTheRequestsAndWakesAfterEach) {
  Gate gate;
  DiskReader reader([&](const ObjectName& name) { return gate.Read(name); }, [&] { gate.Wake(); });
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

}  // namespace
}  // namespace cairn
