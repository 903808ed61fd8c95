#include "store/disk/disk_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "store/codec/codec.h"
#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::DiskStoreTest;
using test::kFolder;
using test::kFront;
using test::kOtherModel;
using test::kSecondNs;
using test::kStartNs;
using test::ModelPath;
using test::NamesOf;
using test::PathOf;
using test::PayloadOf;
using test::Segment;
using test::Shared;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

using Names = std::vector<ObjectName>;

TEST_F(DiskStoreTest, GivesBackWhatItWrote) {
  SteppedStore store(&fs_, Options());
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(5000))));
  EXPECT_EQ(store->stats().unsynced_bytes, 5000u);
  EXPECT_EQ(store->Read(NameOf(header)).error().code, ErrorCode::kNotFound);
  store.Settle();
  EXPECT_EQ(NamesOf(store->TakeEvents().written), Names{NameOf(header)});
  EXPECT_EQ(store->Read(NameOf(header)).value(), PayloadOf(5000));
  const DiskStore::Stats stats = store->stats();
  EXPECT_EQ(stats.unsynced_bytes, 0u);
  EXPECT_EQ(stats.objects, 1u);
  EXPECT_EQ(stats.bytes, kFront + 5000);
  EXPECT_EQ(stats.written, 1u);
  EXPECT_EQ(stats.written_bytes, kFront + 5000);
  EXPECT_EQ(stats.read, 1u);
  EXPECT_EQ(stats.read_bytes, kFront + 5000);
  EXPECT_EQ(stats.errors, 0u);
  EXPECT_EQ(fs_.unsynced_bytes(), 0u);
}

TEST_F(DiskStoreTest, WritesNoMoreInADayThanItMay) {
  DiskStoreOptions options = Options();
  options.day_bytes_max = 2 * (kFront + 5000);
  SteppedStore store(&fs_, options);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(5000)));
  EXPECT_FALSE(store->stats().at_day_limit);
  EXPECT_TRUE(store->MayWrite(5000));
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 1)), PayloadOf(5000)));
  EXPECT_EQ(store->stats().day_bytes, options.day_bytes_max);
  EXPECT_TRUE(store->stats().at_day_limit);
  EXPECT_FALSE(store->MayWrite(5000));
  EXPECT_FALSE(store->Write(Snapshot(TokensOf(10, 2)), Shared(PayloadOf(5000))));
  EXPECT_EQ(store->Read(NameOf(Snapshot(TokensOf(10, 1)))).value(), PayloadOf(5000));
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("--disk-write-gib-day"), std::string::npos) << log_[0];
  store.Advance(25 * 3600);
  EXPECT_FALSE(store->stats().at_day_limit);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 2)), PayloadOf(5000)));
  EXPECT_EQ(store->stats().written, 3u);
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_NE(log_[1].find("in the last 24 hours"), std::string::npos) << log_[1];
}

TEST_F(DiskStoreTest, WritesWhatCanBeMadeSmallerSmallerAndGivesBackEveryBit) {
  DiskStoreOptions options = Options();
  options.codec = Codec::kLossless;
  SteppedStore store(&fs_, options);
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store.Put(header, Bytes(50'000, 7)));
  EXPECT_LT(fs_.bytes(), kFront + 5000);
  EXPECT_EQ(store->stats().bytes, fs_.bytes());
  EXPECT_EQ(store->Read(NameOf(header)).value(), Bytes(50'000, 7));
  // And an object that does not compress is stored raw.
  const ObjectHeader noise = Snapshot(TokensOf(10, 1));
  ASSERT_TRUE(store.Put(noise, PayloadOf(5000)));
  EXPECT_EQ(FileBytes(NameOf(noise)), kFront + 5000);
  EXPECT_EQ(store->Read(NameOf(noise)).value(), PayloadOf(5000));
}

// Each file names its codec: the reader need not write with the same one.
TEST_F(DiskStoreTest, ReadsWhatEveryOtherCodecWrote) {
  const std::vector<Codec> codecs = {Codec::kRaw, Codec::kLossless};
  const Bytes state(8192, 7);
  DiskStoreOptions options = Options();
  Names names;
  for (size_t i = 0; i < codecs.size(); ++i) {
    options.codec = codecs[i];
    SteppedStore store(&fs_, options);
    const ObjectHeader header = Snapshot(TokensOf(10, static_cast<Token>(i)));
    ASSERT_TRUE(store.Put(header, state));
    names.push_back(NameOf(header));
    EXPECT_EQ(ReadFront(fs_, ModelPath(), names[i], FileBytes(names[i]))->header.codec, codecs[i]);
  }
  for (const Codec codec : codecs) {
    options.codec = codec;
    SteppedStore store(&fs_, options);
    store.Settle();
    EXPECT_EQ(store->TakeEvents().found.size(), codecs.size());
    for (size_t i = 0; i < codecs.size(); ++i) {
      const auto back = store->Read(names[i]);
      ASSERT_TRUE(back.has_value()) << back.error().message;
      EXPECT_EQ(*back, state);
    }
  }
}

TEST_F(DiskStoreTest, FindsAfterARestartWhatWasThereAndWhatEachNeedsBeforeIt) {
  // The parent is longer than the segment that begins in it.
  const ObjectHeader parent = Segment(TokensOf(900), 0, {});
  const ObjectHeader child = Segment(TokensOf(700, 1, 600), 600, NameOf(parent));
  const ObjectHeader snapshot = Snapshot(TokensOf(700, 1, 600));
  {
    SteppedStore store(&fs_, Options());
    for (const ObjectHeader* header : {&snapshot, &child, &parent}) {
      ASSERT_TRUE(store.Put(*header, PayloadOf(100)));
    }
  }
  SteppedStore store(&fs_, Options());
  store.Settle();
  const DiskStore::Events events = store->TakeEvents();
  EXPECT_EQ(NamesOf(events.found), (Names{NameOf(parent), NameOf(child), NameOf(snapshot)}));
  ASSERT_EQ(events.found.size(), 3u);
  EXPECT_EQ(events.found[1].tokens, child.tokens);
  EXPECT_EQ(events.found[1].parent, child.parent);
  store.Rescan();
  EXPECT_TRUE(store->TakeEvents().found.empty());
  EXPECT_EQ(store->Read(NameOf(child)).value(), PayloadOf(100));
}

TEST_F(DiskStoreTest, LosesNothingThatWasWrittenWhenThePowerGoes) {
  Names names;
  SteppedStore store(&fs_, Options());
  for (Token line = 0; line < 20; ++line) {
    const ObjectHeader header = Snapshot(TokensOf(10, line));
    ASSERT_TRUE(store.Put(header, PayloadOf(1000, static_cast<uint64_t>(line))));
    names.push_back(NameOf(header));
  }
  const auto after = fs_.Crash(1);
  SteppedStore again(after.get(), SteppedStore::Options(after.get()));
  again.Settle();
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(again->Read(names[i]).value(), PayloadOf(1000, i));
  }
}

TEST_F(DiskStoreTest, PicksUpWhatAnotherProcessWritesAndGivesUp) {
  const auto other_fs = fs_.AnotherProcess();
  SteppedStore ours(&fs_, Options());
  SteppedStore theirs(other_fs.get(), Options());
  ours.Settle();
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(theirs.Put(header, PayloadOf(100)));
  ours.Rescan();
  EXPECT_EQ(NamesOf(ours->TakeEvents().found), Names{NameOf(header)});
  EXPECT_EQ(ours->Read(NameOf(header)).value(), PayloadOf(100));
  theirs->Remove(NameOf(header));
  theirs.Settle();
  EXPECT_EQ(theirs->TakeEvents().gone, Names{NameOf(header)});
  EXPECT_EQ(ours->Read(NameOf(header)).error().code, ErrorCode::kNotFound);
  ours.Rescan();
  EXPECT_EQ(ours->TakeEvents().gone, Names{NameOf(header)});
  EXPECT_EQ(ours->stats().objects, 0u);
  EXPECT_EQ(ours->stats().errors, 0u);
}

TEST_F(DiskStoreTest, SaysFoundAndNotGoneOfWhatWentAndCameAgain) {
  const auto other_fs = fs_.AnotherProcess();
  SteppedStore ours(&fs_, Options());
  SteppedStore theirs(other_fs.get(), Options());
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(ours.Put(header, PayloadOf(100)));
  theirs.Settle();
  theirs->Remove(NameOf(header));
  theirs.Settle();
  ours.Rescan();
  ASSERT_TRUE(theirs.Put(header, PayloadOf(100)));
  ours.Rescan();
  const DiskStore::Events events = ours->TakeEvents();
  EXPECT_EQ(NamesOf(events.found), Names{NameOf(header)});
  EXPECT_TRUE(events.gone.empty());
}

TEST_F(DiskStoreTest, ReadsNoFrontTwice) {
  const auto other_fs = fs_.AnotherProcess();
  SteppedStore theirs(other_fs.get(), Options());
  for (Token line = 0; line < 10; ++line) {
    ASSERT_TRUE(theirs.Put(Snapshot(TokensOf(10, line)), PayloadOf(100'000)));
  }
  fs_.Put(PathOf(ObjectName{7, 7}), PayloadOf(100));
  SteppedStore ours(&fs_, Options());
  ours.Settle();
  EXPECT_EQ(ours->TakeEvents().found.size(), 10u);
  const uint64_t reads = fs_.calls(FsCall::kRead);
  EXPECT_EQ(reads, 11u);
  ours.Rescan();
  ours.Rescan();
  EXPECT_EQ(fs_.calls(FsCall::kRead), reads);
  ASSERT_TRUE(theirs.Put(Snapshot(TokensOf(10, 99)), PayloadOf(100)));
  ours.Rescan();
  EXPECT_EQ(fs_.calls(FsCall::kRead), reads + 1);
  // For a long object, also the part past the first read.
  ASSERT_TRUE(theirs.Put(Snapshot(TokensOf(5000)), PayloadOf(100)));
  ours.Rescan();
  EXPECT_EQ(fs_.calls(FsCall::kRead), reads + 3);
}

TEST_F(DiskStoreTest, WritesNothingThatIsThereAlready) {
  const auto other_fs = fs_.AnotherProcess();
  SteppedStore theirs(other_fs.get(), Options());
  SteppedStore ours(&fs_, Options());
  ours.Settle();
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(theirs.Put(header, PayloadOf(100)));
  EXPECT_TRUE(theirs.Put(header, PayloadOf(100)));
  EXPECT_EQ(theirs->stats().written, 1u);
  // Nor an object that another process wrote since the last scan.
  EXPECT_TRUE(ours.Put(header, PayloadOf(100)));
  EXPECT_EQ(fs_.calls(FsCall::kCreate), 0u);
  ours.Rescan();
  EXPECT_TRUE(ours->TakeEvents().found.empty());
}

TEST_F(DiskStoreTest, TakesOneWriteForTwoThatWait) {
  SteppedStore store(&fs_, Options());
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(100))));
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(100))));
  EXPECT_EQ(store->stats().unsynced_bytes, 100u);
  store.Settle();
  EXPECT_EQ(NamesOf(store->TakeEvents().written), Names{NameOf(header)});
}

TEST_F(DiskStoreTest, TurnsAwayWhatTheQueueHasNoRoomFor) {
  DiskStoreOptions options = Options();
  options.queue_bytes_max = 1000;
  SteppedStore store(&fs_, options);
  // One that is larger than the queue's limit can be written if it is alone.
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 1)), Shared(PayloadOf(5000))));
  EXPECT_FALSE(store->Write(Snapshot(TokensOf(10, 2)), Shared(PayloadOf(1))));
  store.Settle();
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 2)), Shared(PayloadOf(600))));
  EXPECT_FALSE(store->Write(Snapshot(TokensOf(10, 3)), Shared(PayloadOf(401))));
  ASSERT_TRUE(store->Write(Snapshot(TokensOf(10, 4)), Shared(PayloadOf(400))));
  store.Settle();
  EXPECT_EQ(store->stats().objects, 3u);
}

TEST_F(DiskStoreTest, NeverTakesAModelsObjectsForAnothers) {
  DiskStoreOptions others = Options();
  others.fingerprint = kOtherModel;
  ObjectHeader header = Snapshot(TokensOf(10));
  header.fingerprint = kOtherModel;
  {
    SteppedStore theirs(&fs_, others);
    ASSERT_TRUE(theirs.Put(header, PayloadOf(100)));
  }
  SteppedStore ours(&fs_, Options());
  ours.Settle();
  EXPECT_TRUE(ours->TakeEvents().found.empty());
  EXPECT_EQ(ours->stats().objects, 0u);
  EXPECT_EQ(ours->stats().bytes, kFront + 100);
  // Not even if someone moves a file.
  ASSERT_TRUE(fs_.MakeFolders(ModelPath()));
  ASSERT_TRUE(fs_.Rename(PathOf(NameOf(header), kOtherModel), PathOf(NameOf(header))));
  ours.Rescan();
  EXPECT_TRUE(ours->TakeEvents().found.empty());
  EXPECT_EQ(ours->stats().corrupt, 1u);
  EXPECT_EQ(ours->Read(NameOf(header)).error().code, ErrorCode::kCorrupt);
}

// Two processes write the same object, one of them with another codec. Its file replaces the one
// being read, between the reads of the front and the payload.
TEST_F(DiskStoreTest, KeepsAGoodFileThatTookThePlaceOfTheOneItReads) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  const Bytes payload(4000, 7);
  SteppedStore ours(&fs_, Options());
  ASSERT_TRUE(ours.Put(header, payload));
  MemoryFs elsewhere;
  elsewhere.SetNow(kStartNs + kSecondNs);
  DiskStoreOptions smaller = SteppedStore::Options(&elsewhere);
  smaller.codec = Codec::kLossless;
  SteppedStore theirs(&elsewhere, smaller);
  ASSERT_TRUE(theirs.Put(header, payload));
  const std::string path = PathOf(NameOf(header));
  const auto written = elsewhere.Read(path, 0, 1 << 20);
  ASSERT_TRUE(written.has_value());
  size_t reads = 0;
  fs_.OnCall([&](FsCall call, const std::string& called) {
    if (call != FsCall::kRead || called != path || ++reads != 2) return;
    fs_.SetNow(fs_.now_ns() + kSecondNs);
    fs_.Put(path, *written);
  });
  const auto read = ours->Read(NameOf(header));
  fs_.OnCall({});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, payload);
  EXPECT_GT(reads, 2u);
  EXPECT_EQ(ours->stats().corrupt, 0u);
  EXPECT_TRUE(fs_.Stat(path).has_value());
}

// The I/O thread learns late that a file was bad, and by then another process may have written the
// object again.
TEST_F(DiskStoreTest, FindsAGoodFileThatCameAfterABadOne) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  const Bytes payload(4000, 7);
  SteppedStore ours(&fs_, Options());
  ASSERT_TRUE(ours.Put(header, payload));
  const std::string path = PathOf(NameOf(header));
  const auto good = fs_.Read(path, 0, 1 << 20);
  ASSERT_TRUE(good.has_value());
  fs_.FlipBit(path, 8 * (good->size() - 1));
  EXPECT_EQ(ours->Read(NameOf(header)).error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(fs_.Stat(path).has_value());
  fs_.Put(path, *good);
  ours.Settle();
  EXPECT_TRUE(fs_.Stat(path).has_value());
  EXPECT_EQ(NamesOf(ours->TakeEvents().found), std::vector{NameOf(header)});
  EXPECT_EQ(*ours->Read(NameOf(header)), payload);
}

TEST_F(DiskStoreTest, TellsOfAFullFolderInParts) {
  constexpr size_t kObjects = 40;
  {
    SteppedStore before(&fs_, Options());
    for (size_t i = 0; i < kObjects; ++i) {
      ASSERT_TRUE(before.Put(Snapshot(TokensOf(1000 - 10 * i, static_cast<Token>(i))), {1, 2, 3}));
    }
  }
  DiskStoreOptions options = Options();
  options.found_bytes_max = 20'000;
  SteppedStore store(&fs_, options);
  std::vector<ObjectHeader> found;
  size_t parts = 0;
  while (found.size() < kObjects) {
    store.Settle();
    DiskStore::Events events = store->TakeEvents();
    ASSERT_FALSE(events.found.empty());
    size_t token_bytes = 0;
    for (const ObjectHeader& header : events.found)
      token_bytes += header.tokens.size() * sizeof(Token);
    EXPECT_LE(token_bytes, options.found_bytes_max + 1000 * sizeof(Token));
    found.insert(found.end(), events.found.begin(), events.found.end());
    ++parts;
  }
  EXPECT_GT(parts, 4u);
  EXPECT_EQ(found.size(), kObjects);
  const auto shallower = [](const ObjectHeader& a, const ObjectHeader& b) {
    return a.tokens.size() < b.tokens.size();
  };
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), shallower));
  store.Settle();
  EXPECT_TRUE(store->TakeEvents().found.empty());
}

TEST_F(DiskStoreTest, DoesNotTellOfWhatWentBeforeItsTurn) {
  {
    SteppedStore before(&fs_, Options());
    for (Token line = 1; line <= 3; ++line) {
      ASSERT_TRUE(before.Put(Snapshot(TokensOf(100 * line, line)), {1, 2, 3}));
    }
  }
  DiskStoreOptions options = Options();
  options.found_bytes_max = 1;
  SteppedStore store(&fs_, options);
  store.Settle();
  EXPECT_EQ(store->TakeEvents().found.size(), 1u);
  const ObjectName second = NameOf(Snapshot(TokensOf(200, 2)));
  ASSERT_TRUE(fs_.Remove(PathOf(second)));
  store.Rescan();
  std::vector<ObjectName> names;
  for (int i = 0; i < 3; ++i) {
    for (const ObjectName& name : NamesOf(store->TakeEvents().found)) names.push_back(name);
    store.Settle();
  }
  EXPECT_EQ(names, std::vector{NameOf(Snapshot(TokensOf(300, 3)))});
}

TEST_F(DiskStoreTest, LeavesAloneWhatIsNoneOfItsOwn) {
  const std::string digits(32, 'a');
  const std::vector<std::string> strangers = {kFolder + "/" + digits + ".cairn",
                                              kFolder + "/notes/" + digits + ".cairn",
                                              kFolder + "/tmp-1-2-3",
                                              ModelPath() + "/" + digits,
                                              ModelPath() + "/notes.cairn",
                                              ModelPath() + "/" + digits + ".cairn.cairn"};
  for (const std::string& path : strangers) fs_.Put(path, PayloadOf(5000));
  DiskStoreOptions options = Options();
  options.bytes_max = kFront + 100;
  SteppedStore store(&fs_, options);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10)), PayloadOf(100)));
  store.Advance(7200);
  store.Settle();
  EXPECT_EQ(store->stats().bytes, kFront + 100);
  EXPECT_EQ(store->stats().corrupt, 0u);
  for (const std::string& path : strangers) EXPECT_TRUE(fs_.Stat(path).has_value()) << path;
}

TEST_F(DiskStoreTest, FindsAnObjectWithTheTimeOfItsLastUse) {
  DiskStoreOptions options = Options();
  options.half_life_s = 100;
  const ObjectHeader written = Snapshot(TokensOf(10));
  const ObjectHeader used = Snapshot(TokensOf(10, 1));
  {
    SteppedStore store(&fs_, options);
    ASSERT_TRUE(store.Put(written, PayloadOf(100)));
    ASSERT_TRUE(store.Put(used, PayloadOf(100)));
    store->Touch(NameOf(used));
    store.Settle();
  }
  SteppedStore store(&fs_, options);
  store.Settle();
  const std::vector<ListedObject> found = store->TakeEvents().found;
  ASSERT_EQ(found.size(), 2u);
  for (const ListedObject& object : found) {
    const bool was_used = NameOf(object) == NameOf(used);
    EXPECT_EQ(object.used_ns, kStartNs + (was_used ? 100 * kSecondNs : 0));
  }
}

TEST_F(DiskStoreTest, CountsUsesInTheFilesTime) {
  DiskStoreOptions options = Options();
  options.half_life_s = 100;
  SteppedStore store(&fs_, options);
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store.Put(header, PayloadOf(100)));
  EXPECT_EQ(fs_.Stat(PathOf(NameOf(header)))->time_ns, kStartNs);
  for (int i = 0; i < 3; ++i) store->Touch(NameOf(header));
  store.Settle();
  EXPECT_EQ(fs_.Stat(PathOf(NameOf(header)))->time_ns, kStartNs + 200 * kSecondNs);
  // Touches that came together are one change of the time.
  EXPECT_EQ(fs_.calls(FsCall::kSetTime), 2u);
  store->Touch(ObjectName{1, 2});
  store.Settle();
  EXPECT_EQ(store->stats().errors, 0u);
}

TEST_F(DiskStoreTest, WritesNoFasterThanAsked) {
  DiskStoreOptions options = Options();
  options.write_bytes_per_s = 1000;
  options.scan_interval_s = 1000;
  SteppedStore store(&fs_, options);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 0)), PayloadOf(5000 - kFront)));
  EXPECT_FALSE(store.Put(Snapshot(TokensOf(10, 1)), PayloadOf(5000 - kFront)));
  store.Advance(4.9);
  EXPECT_NEAR(store.Settle(), 0.1, 1e-6);
  EXPECT_TRUE(store->TakeEvents().written.empty());
  store.Advance(0.1);
  store.Settle();
  EXPECT_EQ(store->TakeEvents().written.size(), 1u);
  // An object that is there already costs nothing, so its write need not wait.
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, 1)), PayloadOf(5000 - kFront)));
}

TEST_F(DiskStoreTest, ScansOfASlowFolderAreFurtherApart) {
  DiskStoreOptions options = Options();
  double scan_s = 0;
  // A look at the clock when a scan ends finds that it took so long.
  options.now_ns = [this, &scan_s, looks = uint64_t{0}]() mutable {
    const bool is_end = fs_.calls(FsCall::kList) > std::exchange(looks, fs_.calls(FsCall::kList));
    if (is_end) fs_.SetNow(fs_.now_ns() + static_cast<int64_t>(scan_s * kSecondNs));
    return fs_.now_ns();
  };
  SteppedStore store(&fs_, options);
  EXPECT_NEAR(store.Settle(), options.scan_interval_s, 1e-6);
  scan_s = 0.02;
  store.Rescan();
  EXPECT_NEAR(store.Settle(), 2 - scan_s, 1e-6);
  scan_s = 1;
  store.Advance(2);
  EXPECT_NEAR(store.Settle(), options.scan_interval_s_max - scan_s, 1e-6);
  scan_s = 0;
  store.Advance(5);
  EXPECT_NEAR(store.Settle(), options.scan_interval_s, 1e-6);
}

TEST_F(DiskStoreTest, ForgetsWhatItIsToldToAfterWritingIt) {
  SteppedStore store(&fs_, Options());
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(100))));
  store->Remove(NameOf(header));
  store.Settle();
  EXPECT_EQ(store->TakeEvents().gone, Names{NameOf(header)});
  EXPECT_EQ(fs_.bytes(), 0u);
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(100))));
  store->Remove(NameOf(header));
  ASSERT_TRUE(store->Write(header, Shared(PayloadOf(100))));
  store.Settle();
  EXPECT_TRUE(IsThere(NameOf(header)));
}

}  // namespace
}  // namespace cairn
