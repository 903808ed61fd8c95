// Tests the disk store with its own thread, and two of them in one folder.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/disk/disk_store.h"
#include "testing/store/disk_fixture.h"

namespace cairn::disk_threads_test {
namespace {

using test::NamesOf;
using test::PayloadOf;
using test::Shared;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

constexpr double kPatienceMs = 60'000;

// Collects the events of a store as a caller does: when it is woken.
class Caller {
 public:
  void Wake() {
    const std::lock_guard<std::mutex> guard(mutex_);
    woken_ = true;
    wakes_.notify_one();
  }
  // Waits for events. Returns false if none came in time.
  bool TakeEvents(DiskStore* store, DiskStore::Events* events) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!wakes_.wait_for(lock, std::chrono::minutes(1), [this] { return woken_; })) return false;
    woken_ = false;
    // Takes the lock here, as a caller might: the store calls without holding a lock of its own.
    *events = store->TakeEvents();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool woken_ = false;
};

TEST(DiskStoreThread, WakesTheCallerForNews) {
  MemoryFs fs;
  DiskStoreOptions options = SteppedStore::Options(&fs);
  Caller caller;
  options.wake = [&caller] { caller.Wake(); };
  const auto store = DiskStore::Open(&fs, options);
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(1000))));
  DiskStore::Events events;
  ASSERT_TRUE(caller.TakeEvents(store.get(), &events));
  EXPECT_EQ(NamesOf(events.written), std::vector<ObjectName>{NameOf(header)});
  EXPECT_EQ(store->Read(NameOf(header)).value(), PayloadOf(1000));
  store->Remove(NameOf(header));
  ASSERT_TRUE(caller.TakeEvents(store.get(), &events));
  EXPECT_EQ(events.gone, std::vector<ObjectName>{NameOf(header)});
}

// The I/O thread has a low priority, and on a busy machine the first request after a restart came
// before its first scan.
TEST(DiskStoreThread, KnowsWhatIsInItsFolderFromTheBeginning) {
  MemoryFs fs;
  const ObjectHeader header = Snapshot(TokensOf(10));
  {
    const auto store = DiskStore::Open(&fs, SteppedStore::Options(&fs));
    ASSERT_TRUE(store->Write(header, Shared(PayloadOf(1000))));
    ASSERT_TRUE(store->Drain(kPatienceMs));
  }
  const auto store = DiskStore::Open(&fs, SteppedStore::Options(&fs));
  EXPECT_EQ(store->TakeEvents().found.size(), 1u);
}

TEST(DiskStoreThread, DrainsWhatIsQueued) {
  MemoryFs fs;
  const auto store = DiskStore::Open(&fs, SteppedStore::Options(&fs));
  for (Token line = 0; line < 50; ++line) {
    ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, line)), Shared(PayloadOf(10'000))));
    store->Touch(NameOf(Snapshot(TokensOf(10, line))));
  }
  ASSERT_TRUE(store->Drain(kPatienceMs));
  EXPECT_EQ(store->TakeEvents().written.size(), 50u);
  EXPECT_EQ(store->stats().unsynced_bytes, 0u);
  EXPECT_EQ(fs.unsynced_bytes(), 0u);
  EXPECT_TRUE(store->Drain(0));
}

// Each store counts its own writes at once, and those of others at its scans. Two servers that
// ended together left more than the budget behind.
TEST(DiskStoreThread, LeavesTheFolderWithinItsBudgetWhenTwoDrainAtOnce) {
  MemoryFs fs;
  fs.SetNow(test::kStartNs);
  const auto other_fs = fs.AnotherProcess();
  DiskStoreOptions options = SteppedStore::Options(&fs);
  options.bytes_max = 10 * (kFrontBytesMin + 2000);
  options.scan_interval_s = 1000;
  for (Token round = 0; round < 20; ++round) {
    const auto first = DiskStore::Open(&fs, options);
    const auto second = DiskStore::Open(other_fs.get(), options);
    for (Token line = 0; line < 8; ++line) {
      const Token own = round * 100 + line;
      ASSERT_TRUE(first->Write(Snapshot(TokensOf(10, own)), Shared(PayloadOf(1000))));
      ASSERT_TRUE(second->Write(Snapshot(TokensOf(10, own + 50)), Shared(PayloadOf(1000))));
    }
    std::thread drains_too([&second] { EXPECT_TRUE(second->Drain(kPatienceMs)); });
    EXPECT_TRUE(first->Drain(kPatienceMs));
    drains_too.join();
    EXPECT_LE(fs.bytes(), options.bytes_max);
  }
}

TEST(DiskStoreThread, CallsNobodyAfterItsStop) {
  MemoryFs fs;
  DiskStoreOptions options = SteppedStore::Options(&fs);
  std::atomic<int> wakes = 0;
  options.wake = [&wakes] { ++wakes; };
  const auto store = DiskStore::Open(&fs, options);
  store->Stop();
  const int wakes_before = wakes;
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 1)), Shared(PayloadOf(10'000))));
  EXPECT_FALSE(store->Drain(50));
  EXPECT_EQ(wakes, wakes_before);
  EXPECT_EQ(store->stats().written, 0u);
  store->Stop();
}

TEST(DiskStoreThread, StopsInTheMiddleOfAWaitAndSaysWhatDrainLeft) {
  MemoryFs fs;
  DiskStoreOptions options = SteppedStore::Options(&fs);
  // The clock stands still, so the second write would wait for ever.
  options.write_bytes_per_s = 1;
  auto store = DiskStore::Open(&fs, options);
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 0)), Shared(PayloadOf(1000))));
  ASSERT_TRUE(store->Drain(kPatienceMs));
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 1)), Shared(PayloadOf(1000))));
  EXPECT_FALSE(store->Drain(10));
  EXPECT_EQ(store->stats().unsynced_bytes, 1000u);
  store.reset();
  EXPECT_EQ(fs.Files().size(), 1u);
}

TEST(DiskStoreThread, ReadsTheSameOrNothingWhileAnotherStoreGivesUp) {
  MemoryFs fs;
  fs.SetNow(test::kStartNs);
  const auto other_fs = fs.AnotherProcess();
  DiskStoreOptions options = SteppedStore::Options(&fs);
  options.bytes_max = 20 * (kFrontBytesMin + 2000);
  options.scan_interval_s = 1e-9;  // scans whenever it is idle
  const auto reader = DiskStore::Open(&fs, options);
  const auto writer = DiskStore::Open(other_fs.get(), options);
  constexpr Token kLines = 40;
  std::atomic<bool> done{false};
  std::thread writing([&] {
    for (int round = 0; round < 10; ++round) {
      for (Token line = 0; line < kLines; ++line) {
        // Each is worth more than all before it, so that each evicts others.
        const double worth_ms = 1000.0 * (1 + round * kLines + line);
        const ObjectHeader header = Snapshot(TokensOf(10, line), worth_ms);
        (void)writer->Write(header, Shared(PayloadOf(2000, static_cast<uint64_t>(line))));
      }
      (void)writer->Drain(kPatienceMs);
      (void)writer->TakeEvents();
      fs.SetNow(fs.now_ns() + test::kSecondNs);
    }
    done = true;
  });
  uint64_t hits = 0;
  while (!done || hits == 0) {
    for (Token line = 0; line < kLines; ++line) {
      const auto bytes = reader->Read(NameOf(Snapshot(TokensOf(10, line))));
      if (!bytes) {
        EXPECT_EQ(bytes.error().code, ErrorCode::kNotFound) << bytes.error().message;
        continue;
      }
      ++hits;
      EXPECT_EQ(*bytes, PayloadOf(2000, static_cast<uint64_t>(line)));
    }
    (void)reader->TakeEvents();
  }
  writing.join();
  EXPECT_EQ(reader->stats().corrupt, 0u);
  EXPECT_GT(writer->stats().evicted, 0u);
  EXPECT_LE(writer->stats().bytes, options.bytes_max);
}

TEST(DiskStoreThread, KeepsObjectsOnTheMachinesOwnFileSystem) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("cairn_disk_threads_test." + std::to_string(getpid()));
  const std::unique_ptr<Fs> fs = MakeRealFs();
  DiskStoreOptions options;
  options.folder = folder / "cache";
  options.fingerprint = test::kModel;
  options.reserve_bytes = 0;
  options.now_ns = [] { return test::kStartNs; };
  const ObjectHeader header = Snapshot(TokensOf(5000));
  {
    const auto store = DiskStore::Open(fs.get(), options);
    ASSERT_TRUE(store->Write(header, Shared(PayloadOf(20'000'000))));
    EXPECT_TRUE(store->Drain(kPatienceMs));
    EXPECT_EQ(store->TakeEvents().written.size(), 1u);
  }
  {
    const auto store = DiskStore::Open(fs.get(), options);
    // It scans before it does the queued tasks.
    store->Remove(ObjectName{1, 2});
    EXPECT_TRUE(store->Drain(kPatienceMs));
    EXPECT_EQ(NamesOf(store->TakeEvents().found), std::vector<ObjectName>{NameOf(header)});
    EXPECT_EQ(store->Read(NameOf(header)).value(), PayloadOf(20'000'000));
    EXPECT_EQ(store->stats().errors, 0u);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cairn::disk_threads_test
