// Tests the disk store under failures: bad files, full and failing devices, vanishing folders.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kFolder;
using test::kFront;
using test::kSecondNs;
using test::kStartNs;
using test::ModelPath;
using test::PathOf;
using test::PayloadOf;
using test::Shared;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

using DiskBadDays = test::DiskStoreTest;
using Names = std::vector<ObjectName>;

TEST_F(DiskBadDays, CallsACorruptObjectAMissAndRemovesIt) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  const ObjectName name = NameOf(header);
  for (const uint64_t byte :
       {uint64_t{3}, uint64_t{40}, uint64_t{300}, kFront - 1, kFront, kFront + 99}) {
    SteppedStore store(&fs_, Options());
    ASSERT_TRUE(store.Put(header, PayloadOf(100)));
    fs_.FlipBit(PathOf(name), 8 * byte);
    EXPECT_EQ(store->Read(name).error().code, ErrorCode::kCorrupt) << byte;
    EXPECT_FALSE(IsThere(name));
    EXPECT_EQ(store->stats().corrupt, 1u);
    store.Settle();
    EXPECT_EQ(store->TakeEvents().gone, Names{name});
    // The object can be written again.
    ASSERT_TRUE(store.Put(header, PayloadOf(100)));
    EXPECT_EQ(store->Read(name).value(), PayloadOf(100));
    store->Remove(name);
    store.Settle();
  }
}

TEST_F(DiskBadDays, FindsNoObjectWhoseFrontIsBadAndWritesItAnew) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  const ObjectName name = NameOf(header);
  {
    SteppedStore store(&fs_, Options());
    ASSERT_TRUE(store.Put(header, PayloadOf(100)));
  }
  fs_.Truncate(PathOf(name), kFront + 99);
  SteppedStore store(&fs_, Options());
  store.Settle();
  EXPECT_TRUE(store->TakeEvents().found.empty());
  EXPECT_EQ(store->stats().corrupt, 1u);
  EXPECT_EQ(store->stats().bytes, kFront + 99);
  ASSERT_TRUE(store.Put(header, PayloadOf(100)));
  EXPECT_EQ(store->stats().bytes, kFront + 100);
  EXPECT_EQ(store->Read(name).value(), PayloadOf(100));
}

TEST_F(DiskBadDays, DropsTemporaryFilesOfWritersThatDied) {
  ASSERT_TRUE(fs_.MakeFolders(ModelPath()));
  fs_.Put(ModelPath() + "/tmp-1-2-3", PayloadOf(300));
  fs_.SetNow(kStartNs + 1800 * kSecondNs);
  fs_.Put(ModelPath() + "/tmp-4-5-6", PayloadOf(200));
  SteppedStore store(&fs_, Options());
  store.Settle();
  EXPECT_EQ(store->stats().bytes, 500u);
  store.Advance(1801);
  store.Settle();
  EXPECT_EQ(store->stats().bytes, 200u);
  EXPECT_EQ(fs_.bytes(), 200u);
  store.Advance(1800);
  store.Settle();
  EXPECT_EQ(fs_.bytes(), 0u);
}

// A second write stood for the first one, which had failed already, so it was never written and
// nobody was told.
TEST_F(DiskBadDays, WritesAnObjectAgainForACallerWhoHearsThatItFailedAndOffersItAtOnce) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  DiskStoreOptions options = Options();
  DiskWorker* worker = nullptr;
  Names written;
  options.wake = [&] {
    const DiskStore::Events events = worker->TakeEvents();
    for (const ObjectName& name : test::NamesOf(events.written)) written.push_back(name);
    if (events.failed.empty()) return;
    fs_.SetReadOnly(false);
    EXPECT_TRUE(worker->Write(header, Shared(PayloadOf(100))));
  };
  SteppedStore store(&fs_, options);
  worker = &*store;
  store.Settle();
  fs_.SetReadOnly(true);
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(100))));
  store.Settle();
  EXPECT_EQ(written, Names{NameOf(header)});
  EXPECT_EQ(store->Read(NameOf(header)).value(), PayloadOf(100));
}

TEST_F(DiskBadDays, GoesOnWhileTheFolderRefusesAndComesBackToIt) {
  SteppedStore store(&fs_, Options());
  const ObjectHeader before = Snapshot(TokensOf(10, 0));
  ASSERT_TRUE(store.Put(before, PayloadOf(100)));
  fs_.SetReadOnly(true);
  for (Token line = 1; line < 10; ++line) {
    EXPECT_FALSE(store.Put(Snapshot(TokensOf(10, line)), PayloadOf(100)));
  }
  EXPECT_EQ(store->Read(NameOf(before)).value(), PayloadOf(100));
  const uint64_t errors = store->stats().errors;
  EXPECT_GT(errors, 0u);
  EXPECT_EQ(log_.size(), 1u);
  fs_.SetReadOnly(false);
  // After the failures the folder is left alone until the next scan.
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10, 10)), PayloadOf(100)));
  EXPECT_EQ(store->stats().errors, errors);
  store.Rescan();
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, 10)), PayloadOf(100)));
}

TEST_F(DiskBadDays, TakesNothingBetweenScansFromAFolderThatRefuses) {
  SteppedStore store(&fs_, Options());
  store.Settle();
  fs_.SetReadOnly(true);
  const ObjectHeader first = Snapshot(TokensOf(10, 0));
  const ObjectHeader second = Snapshot(TokensOf(10, 1));
  ASSERT_TRUE(store->Write(first, Shared(PayloadOf(100))));
  ASSERT_TRUE(store->Write(second, Shared(PayloadOf(100))));
  store.Settle();
  EXPECT_EQ(store->TakeEvents().failed, (Names{NameOf(first), NameOf(second)}));
  EXPECT_TRUE(store->stats().refusing);
  EXPECT_FALSE(store->Write(first, Shared(PayloadOf(100))));
  EXPECT_EQ(store->stats().errors, 2u);
  fs_.SetReadOnly(false);
  store.Rescan();
  EXPECT_FALSE(store->stats().refusing);
  EXPECT_TRUE(store.Put(first, PayloadOf(100)));
}

TEST_F(DiskBadDays, SaysWhatGoesWrongLessAndLessOftenAndThatItIsOver) {
  SteppedStore store(&fs_, Options());
  store.Settle();
  fs_.SetReadOnly(true);
  for (Token line = 0; line < 80; ++line) {
    EXPECT_FALSE(store.Put(Snapshot(TokensOf(10, line)), PayloadOf(100)));
    store.Advance(6);
  }
  EXPECT_EQ(store->stats().errors, 80u);
  // At once, and after one, three and seven minutes.
  ASSERT_EQ(log_.size(), 4u);
  EXPECT_NE(log_[0].find("let this user write there"), std::string::npos) << log_[0];
  EXPECT_NE(log_[1].find("and 9 more"), std::string::npos) << log_[1];
  EXPECT_NE(log_[2].find("and 19 more"), std::string::npos) << log_[2];
  fs_.SetReadOnly(false);
  store.Rescan();
  for (Token line = 0; line < 3; ++line) {
    EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, line)), PayloadOf(100)));
  }
  ASSERT_EQ(log_.size(), 5u);
  EXPECT_EQ(log_[4], "disk cache: the folder takes files again");
}

TEST_F(DiskBadDays, SaysThatOthersHaveFilledTheDevice) {
  DiskStoreOptions options = Options();
  options.reserve_bytes = uint64_t{1} << 30;
  fs_.SetCapacity(uint64_t{1} << 20);
  SteppedStore store(&fs_, options);
  store.Settle();
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10)), PayloadOf(100)));
  EXPECT_EQ(store->stats().errors, 1u);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("the device has 1 MiB left, of which 1024 are left to others; make room"),
            std::string::npos)
      << log_[0];
  fs_.SetCapacity(uint64_t{4} << 30);
  store.Rescan();
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10)), PayloadOf(100)));
}

TEST_F(DiskBadDays, MakesTheFolderAgainWhenItVanished) {
  SteppedStore store(&fs_, Options());
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store.Put(header, PayloadOf(100)));
  fs_.RemoveFolder(kFolder);
  store.Rescan();
  EXPECT_EQ(store->TakeEvents().vanished, Names{NameOf(header)});
  EXPECT_EQ(store->stats().bytes, 0u);
  EXPECT_TRUE(store.Put(header, PayloadOf(100)));
  // Also if no scan ran since.
  fs_.RemoveFolder(kFolder);
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10, 1)), PayloadOf(100)));
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, 2)), PayloadOf(100)));
}

TEST_F(DiskBadDays, LeavesNothingBehindOnAFullDevice) {
  fs_.SetCapacity(kFront + 500);
  DiskStoreOptions options = Options();
  SteppedStore store(&fs_, options);
  store.Settle();
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10)), PayloadOf(1000)));
  EXPECT_EQ(fs_.bytes(), 0u);
  // Nor if the device fills up during a write.
  fs_.SetCapacity(uint64_t{1} << 30);
  fs_.Fail(FsCall::kAppend, 2, ErrorCode::kNoSpace);
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10)), PayloadOf(1000)));
  EXPECT_EQ(fs_.bytes(), 0u);
  EXPECT_EQ(store->stats().errors, 2u);
  EXPECT_EQ(store->stats().bytes, 0u);
  store.Rescan();
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10)), PayloadOf(1000)));
}

TEST_F(DiskBadDays, CallsNothingWrittenThatMayNotBeOnTheDevice) {
  for (const FsCall call : {FsCall::kCreate, FsCall::kAppend, FsCall::kSync, FsCall::kClose,
                            FsCall::kRename, FsCall::kSyncFolder}) {
    SteppedStore store(&fs_, Options());
    store.Settle();
    fs_.Fail(call, 1, ErrorCode::kInternal);
    const ObjectHeader header = Snapshot(TokensOf(10));
    ASSERT_TRUE(store->Write(header, Shared(PayloadOf(1000))));
    store.Settle();
    const DiskStore::Events events = store->TakeEvents();
    EXPECT_EQ(events.failed, Names{NameOf(header)});
    EXPECT_TRUE(events.written.empty());
    EXPECT_TRUE(fs_.Files().empty()) << fs_.Files().front();
    EXPECT_EQ(store->stats().errors, 1u);
    EXPECT_EQ(store->stats().unsynced_bytes, 0u);
    fs_.ClearFaults();
  }
}

TEST_F(DiskBadDays, WritesNothingUntilItHasSeenAllThatIsThere) {
  DiskStoreOptions options = Options();
  options.bytes_max = kFront + 1000;
  {
    SteppedStore store(&fs_, options);
    ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(1000)));
  }
  SteppedStore store(&fs_, options);
  fs_.Fail(FsCall::kList, 2, ErrorCode::kInternal);
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10, 1), 2000), PayloadOf(1000)));
  EXPECT_EQ(fs_.bytes(), kFront + 1000);
  store.Rescan();
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, 1), 2000), PayloadOf(1000)));
  EXPECT_EQ(fs_.bytes(), kFront + 1000);
}

}  // namespace
}  // namespace cairn
