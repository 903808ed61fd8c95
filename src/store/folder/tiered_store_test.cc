// Tests the store of memory and disk, including damaged objects on the disk.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "store/disk/disk_store.h"
#include "store/snapshot_store.h"
#include "testing/store/disk_fixture.h"
#include "testing/store/fake_disk.h"

namespace cairn::tiered_store_test {
namespace {

using test::PathOf;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;
using Place = SnapshotStore::Place;

constexpr double kPatienceMs = 60'000;

// A time one minute from now.
class Deadline {
 public:
  // Also waits a little.
  bool Passed() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::chrono::steady_clock::now() > at_;
  }

 private:
  const std::chrono::steady_clock::time_point at_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
};

// A process that saves to a folder.
class Process {
 public:
  explicit Process(MemoryFs* fs) {
    disk_ = DiskStore::Open(fs, SteppedStore::Options(fs));
    store_ = MakeTieredStore(disk_.get());
  }

  SnapshotStore* operator->() { return store_.get(); }
  // Waits for the disk and takes the events.
  SnapshotStore::Events Settle() {
    EXPECT_TRUE(disk_->Drain(kPatienceMs));
    return store_->TakeEvents();
  }

 private:
  std::unique_ptr<DiskStore> disk_;
  std::unique_ptr<SnapshotStore> store_;
};

Bytes SomeBytes() {
  return Bytes(8192, 7);
}

Bytes FileOf(const MemoryFs& fs, const ObjectName& name) {
  return fs.Read(PathOf(name), 0, fs.Stat(PathOf(name))->bytes).value();
}

TEST(TieredStore, KeepsTheFileOfWhatCouldNotBeReadJustNow) {
  test::FakeDisk disk;
  const ObjectHeader header = Snapshot(TokensOf(10));
  {
    const auto earlier = MakeTieredStore(&disk);
    ASSERT_TRUE(earlier->Put(1, SomeBytes()).has_value());
    ASSERT_TRUE(earlier->Save(1, header));
  }
  disk.Restart();
  const auto store = MakeTieredStore(&disk);
  ASSERT_EQ(store->TakeEvents().found.size(), 1u);
  store->Adopt(1, header);
  disk.FailReads(true);
  EXPECT_FALSE(store->Get(1).has_value());
  // As the cache does with a useless object.
  store->Erase(1);
  EXPECT_TRUE(disk.Holds(NameOf(header)));
  disk.FailReads(false);
  // When it is made again, its file is found.
  ASSERT_TRUE(store->Put(2, SomeBytes()).has_value());
  ASSERT_TRUE(store->Save(2, header));
  store->TakeEvents();
  EXPECT_EQ(store->PlaceOf(2), Place::kBoth);
}

TEST(TieredStore, OffersAgainWhatTheFolderFailedToTake) {
  test::FakeDisk disk;
  const auto store = MakeTieredStore(&disk);
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store->Put(1, SomeBytes()).has_value());
  disk.FailWrites(true);
  ASSERT_TRUE(store->Save(1, header));
  EXPECT_EQ(store->PlaceOf(1), Place::kSaving);
  store->TakeEvents();
  EXPECT_EQ(store->PlaceOf(1), Place::kUnsaved);
  disk.FailWrites(false);
  ASSERT_TRUE(store->Save(1, header));
  store->TakeEvents();
  EXPECT_EQ(store->PlaceOf(1), Place::kBoth);
}

TEST(TieredStore, WritesNothingOverAFileThatAnotherProcessWroteMeanwhile) {
  MemoryFs fs;
  fs.SetNow(test::kStartNs);
  const ObjectHeader header = Snapshot(TokensOf(10));
  const auto other_fs = fs.AnotherProcess();
  Process ours(&fs);
  Process theirs(other_fs.get());
  ASSERT_TRUE(theirs->Put(1, SomeBytes()).has_value());
  ASSERT_TRUE(theirs->Save(1, header));
  theirs.Settle();
  const Bytes file = FileOf(fs, NameOf(header));
  ASSERT_TRUE(ours->Put(1, SomeBytes()).has_value());
  ASSERT_TRUE(ours->Save(1, header));
  ours.Settle();
  EXPECT_EQ(ours->PlaceOf(1), Place::kBoth);
  EXPECT_EQ(ours->saved_stats().written, 0u);
  EXPECT_EQ(FileOf(fs, NameOf(header)), file);
}

}  // namespace
}  // namespace cairn::tiered_store_test
