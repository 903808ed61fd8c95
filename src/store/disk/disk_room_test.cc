// Tests which objects the disk store evicts, and when.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kFolder;
using test::kFront;
using test::kOtherModel;
using test::PayloadOf;
using test::Shared;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

using DiskRoom = test::DiskStoreTest;
using Names = std::vector<ObjectName>;

TEST_F(DiskRoom, HoldsTheBudgetToTheByteAndEvictsWhatIsWorthLeast) {
  DiskStoreOptions options = Options();
  options.bytes_max = 3 * (kFront + 1000);
  SteppedStore store(&fs_, options);
  const ObjectHeader cheap = Snapshot(TokensOf(10, 1), 10);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(1000)));
  ASSERT_TRUE(store.Put(cheap, PayloadOf(1000)));
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 2)), PayloadOf(1000)));
  EXPECT_EQ(store->stats().bytes, options.bytes_max);
  EXPECT_EQ(store->stats().evicted, 0u);
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 3), 2000), Shared(PayloadOf(1000))));
  store.Settle();
  const DiskStore::Events events = store->TakeEvents();
  EXPECT_EQ(events.gone, Names{NameOf(cheap)});
  EXPECT_EQ(events.written.size(), 1u);
  EXPECT_EQ(store->stats().evicted, 1u);
  EXPECT_EQ(fs_.bytes(), options.bytes_max);
}

// The cache has weighed it against all that it has on disk.
TEST_F(DiskRoom, WritesWhatTheCacheGivesItWhateverItsRank) {
  DiskStoreOptions options = Options();
  options.bytes_max = 2 * (kFront + 1000);
  SteppedStore store(&fs_, options);
  const ObjectHeader least = Snapshot(TokensOf(10, 0), 900);
  ASSERT_TRUE(store.Put(least, PayloadOf(1000)));
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 1)), PayloadOf(1000)));
  const ObjectHeader cheap = Snapshot(TokensOf(10, 2), 10);
  ASSERT_TRUE(store->Write(cheap, Shared(PayloadOf(1000))));
  store.Settle();
  const DiskStore::Events events = store->TakeEvents();
  ASSERT_EQ(events.written.size(), 1u);
  EXPECT_EQ(events.written.front().name, NameOf(cheap));
  EXPECT_EQ(events.gone, Names{NameOf(least)});
}

TEST_F(DiskRoom, EvictsNothingForAnObjectLargerThanTheBudget) {
  DiskStoreOptions options = Options();
  options.bytes_max = 2 * (kFront + 1000);
  SteppedStore store(&fs_, options);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(1000)));
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 1)), PayloadOf(1000)));
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 3), 1e12), Shared(PayloadOf(10'000))));
  store.Settle();
  const DiskStore::Events events = store->TakeEvents();
  EXPECT_EQ(events.refused.size(), 1u);
  EXPECT_TRUE(events.gone.empty());
  EXPECT_EQ(store->stats().objects, 2u);
  EXPECT_EQ(store->stats().errors, 0u);
}

TEST_F(DiskRoom, EvictsOtherModelsObjectsToo) {
  DiskStoreOptions options = Options();
  options.bytes_max = 2 * (kFront + 1000);
  ObjectHeader theirs = Snapshot(TokensOf(10), 10);
  theirs.fingerprint = kOtherModel;
  {
    DiskStoreOptions others = options;
    others.fingerprint = kOtherModel;
    SteppedStore store(&fs_, others);
    ASSERT_TRUE(store.Put(theirs, PayloadOf(1000)));
  }
  SteppedStore store(&fs_, options);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(1000)));
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 1)), Shared(PayloadOf(1000))));
  store.Settle();
  const DiskStore::Events events = store->TakeEvents();
  EXPECT_EQ(events.written.size(), 1u);
  EXPECT_TRUE(events.gone.empty());
  EXPECT_FALSE(IsThere(NameOf(theirs), kOtherModel));
}

TEST_F(DiskRoom, TrimsAtTheScanWhatIsOverTheBudget) {
  {
    SteppedStore store(&fs_, Options());
    for (Token line = 0; line < 5; ++line) {
      ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, line), 100 * (line + 1)), PayloadOf(1000)));
    }
  }
  DiskStoreOptions options = Options();
  options.bytes_max = 2 * (kFront + 1000);
  SteppedStore store(&fs_, options);
  store.Settle();
  EXPECT_EQ(store->stats().objects, 2u);
  EXPECT_EQ(fs_.bytes(), options.bytes_max);
  EXPECT_TRUE(IsThere(NameOf(Snapshot(TokensOf(10, 4)))));
}

TEST_F(DiskRoom, LeavesTheDeviceItsReserve) {
  DiskStoreOptions options = Options();
  options.reserve_bytes = 10'000;
  fs_.SetCapacity(10'000 + 2 * (kFront + 1000));
  SteppedStore store(&fs_, options);
  const ObjectHeader cheap = Snapshot(TokensOf(10, 1), 10);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(1000)));
  ASSERT_TRUE(store.Put(cheap, PayloadOf(1000)));
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 2), 2000), PayloadOf(1000)));
  EXPECT_FALSE(IsThere(NameOf(cheap)));
  EXPECT_EQ(fs_.SpaceOf(kFolder)->free_bytes, 10'000u);
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, 3), 100), PayloadOf(1000)));
  EXPECT_EQ(fs_.SpaceOf(kFolder)->free_bytes, 10'000u);
  EXPECT_EQ(store->stats().objects, 2u);
}

TEST_F(DiskRoom, WithoutANamedBudgetMakesRoomForOtherFilesOnTheDevice) {
  DiskStoreOptions options = Options();
  options.bytes_max = std::nullopt;
  options.reserve_bytes = 0;
  constexpr uint64_t kObject = kFront + 1000;
  fs_.SetCapacity(100 * kObject);
  ASSERT_TRUE(fs_.MakeFolders(kFolder));
  SteppedStore store(&fs_, options);
  store.Settle();
  EXPECT_EQ(store->stats().bytes_max, 10 * kObject);
  for (Token i = 0; i < 8; ++i) {
    ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, i), 100 + i), PayloadOf(1000)));
  }
  fs_.Put("/other/file", Bytes(88 * kObject));
  store.Rescan();
  EXPECT_EQ(store->stats().bytes_max, 6 * kObject);
  EXPECT_EQ(store->stats().bytes, 6 * kObject);
  EXPECT_FALSE(IsThere(NameOf(Snapshot(TokensOf(10, 0), 100)))) << "it was worth least";
  ASSERT_TRUE(fs_.Remove("/other/file"));
  store.Rescan();
  EXPECT_EQ(store->stats().bytes_max, 10 * kObject);
}

TEST_F(DiskRoom, TriesAgainWhileAnotherProcessEvictsAndThenLetsItBe) {
  DiskStoreOptions options = Options();
  options.bytes_max = kFront + 1000;
  SteppedStore store(&fs_, options);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(1000)));
  const auto other_fs = fs_.AnotherProcess();
  {
    const auto lock = other_fs->TryLock(kFolder + "/lock");
    ASSERT_TRUE(lock.has_value());
    ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 1), 2000), Shared(PayloadOf(1000))));
    const double wait_s = store.Settle();
    EXPECT_GT(wait_s, 0);
    EXPECT_GT(store->stats().unsynced_bytes, 0u);
    store.Advance(wait_s);
  }
  store.Settle();
  EXPECT_EQ(store->TakeEvents().written.size(), 1u);

  const auto lock = other_fs->TryLock(kFolder + "/lock");
  ASSERT_TRUE(lock.has_value());
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 2), 4000), Shared(PayloadOf(1000))));
  for (int i = 0; i < 100 && store->stats().unsynced_bytes > 0; ++i) store.Advance(store.Settle());
  EXPECT_EQ(store->TakeEvents().failed.size(), 1u);
  EXPECT_EQ(store->stats().bytes, options.bytes_max);
}

TEST_F(DiskRoom, LooksAgainWhetherWhatIsToGoWasUsedByAnotherProcess) {
  DiskStoreOptions options = Options();
  options.bytes_max = 2 * (kFront + 1000);
  SteppedStore ours(&fs_, options);
  const ObjectHeader used = Snapshot(TokensOf(10, 0), 1000);
  const ObjectHeader unused = Snapshot(TokensOf(10, 1), 1001);
  ASSERT_TRUE(ours.Put(used, PayloadOf(1000)));
  ASSERT_TRUE(ours.Put(unused, PayloadOf(1000)));
  const auto other_fs = fs_.AnotherProcess();
  SteppedStore theirs(other_fs.get(), options);
  theirs.Settle();
  theirs->Touch(NameOf(used));
  theirs.Settle();
  const ObjectHeader newer = Snapshot(TokensOf(10, 2), 1100);
  ASSERT_TRUE(ours.Put(newer, PayloadOf(1000)));
  EXPECT_TRUE(IsThere(NameOf(used)));
  EXPECT_FALSE(IsThere(NameOf(unused)));
  // Objects that another process evicted meanwhile need not be evicted again.
  theirs->Remove(NameOf(newer));
  theirs.Settle();
  ASSERT_TRUE(ours.Put(Snapshot(TokensOf(10, 3), 5000), PayloadOf(1000)));
  EXPECT_EQ(ours->stats().evicted, 1u);
  EXPECT_EQ(ours->stats().objects, 2u);
}

}  // namespace
}  // namespace cairn
