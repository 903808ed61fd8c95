// Tests the disk store in a folder that it shares with a newer version, whose files it cannot read.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/store/disk_fixture.h"
#include "testing/store/object_sample.h"

namespace cairn {
namespace {

using test::kFront;
using test::kOtherModel;
using test::kSecondNs;
using test::kStartNs;
using test::PathOf;
using test::PayloadOf;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

using Names = std::vector<ObjectName>;

class DiskNewer : public test::DiskStoreTest {
 protected:
  // Writes the file that a newer version would write for `header`, `age_s` seconds ago.
  ObjectName PutNewer(const ObjectHeader& header, size_t bytes, int64_t age_s = 0) {
    const ObjectName name = NameOf(header);
    Bytes file = EncodeHeader(header);
    const Bytes payload = PayloadOf(bytes);
    file.insert(file.end(), payload.begin(), payload.end());
    test::MakeNewer(&file);
    const std::string path = PathOf(name, header.fingerprint);
    fs_.Put(path, file);
    EXPECT_TRUE(fs_.SetTime(path, kStartNs - age_s * kSecondNs).has_value());
    return name;
  }
  // Whether the file is there, and unchanged.
  bool IsUntouched(const ObjectName& name) const {
    const auto begin = fs_.Read(PathOf(name), 0, kFront);
    return begin && FrontBytes(*begin).error().code == ErrorCode::kUnsupported;
  }
};

TEST_F(DiskNewer, ObjectsCountButAreNeitherReadNorCorrupt) {
  ObjectHeader header = Snapshot(TokensOf(10));
  PutNewer(header, 1000);
  header.fingerprint = kOtherModel;
  PutNewer(header, 300);
  SteppedStore store(&fs_, Options());
  store.Settle();
  const DiskStore::Stats stats = store->stats();
  EXPECT_EQ(stats.bytes, 2 * kFront + 1300);
  EXPECT_EQ(stats.objects, 0u);
  EXPECT_EQ(stats.corrupt, 0u);
  EXPECT_EQ(stats.errors, 0u);
  EXPECT_TRUE(store->TakeEvents().found.empty());
  EXPECT_TRUE(log_.empty()) << log_.front();
  const uint64_t reads = fs_.calls(FsCall::kRead);
  store.Rescan();
  EXPECT_EQ(fs_.calls(FsCall::kRead), reads);
}

TEST_F(DiskNewer, ObjectsGoNoSoonerThanOthersOfTheirAge) {
  DiskStoreOptions options = Options();
  options.bytes_max = 4 * (kFront + 1000);
  const ObjectName old = PutNewer(Snapshot(TokensOf(10, 1)), 1000, 2 * 86'400);
  const ObjectName young = PutNewer(Snapshot(TokensOf(10, 2)), 1000, 600);
  SteppedStore store(&fs_, options);
  const ObjectHeader first = Snapshot(TokensOf(10, 3));
  const ObjectHeader second = Snapshot(TokensOf(10, 4));
  ASSERT_TRUE(store.Put(first, PayloadOf(1000)));
  ASSERT_TRUE(store.Put(second, PayloadOf(1000)));
  // One is used and the other is not; the newer version uses its own.
  store.Advance(3600);
  store->Touch(NameOf(first));
  store.Settle();
  ASSERT_TRUE(fs_.SetTime(PathOf(young), fs_.now_ns()).has_value());
  store.Advance(3600);
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 5)), PayloadOf(1000)));
  EXPECT_FALSE(IsThere(old));
  ASSERT_TRUE(store.Put(Snapshot(TokensOf(10, 6)), PayloadOf(1000)));
  EXPECT_FALSE(IsThere(NameOf(second)));
  EXPECT_TRUE(IsUntouched(young));
  EXPECT_TRUE(IsThere(NameOf(first)));
  EXPECT_EQ(store->stats().bytes, options.bytes_max);
}

TEST_F(DiskNewer, ObjectIsNotWrittenOver) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  const ObjectHeader later = Snapshot(TokensOf(10, 1));
  PutNewer(header, 1000);
  SteppedStore store(&fs_, Options());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(store.Put(header, PayloadOf(100)));
  EXPECT_TRUE(IsUntouched(NameOf(header)));
  // Nor one that came since the last scan.
  PutNewer(later, 1000);
  EXPECT_FALSE(store.Put(later, PayloadOf(100)));
  EXPECT_TRUE(IsUntouched(NameOf(later)));
  EXPECT_EQ(store->stats().bytes, 2 * kFront + 2000);
  EXPECT_EQ(store->stats().errors, 0u);
  EXPECT_EQ(store->stats().corrupt, 0u);
  // The folder does not count as failing.
  EXPECT_TRUE(store.Put(Snapshot(TokensOf(10, 2)), PayloadOf(100)));
  // Once it is gone, there is room for ours.
  ASSERT_TRUE(fs_.Remove(PathOf(NameOf(header))).has_value());
  store.Rescan();
  EXPECT_TRUE(store.Put(header, PayloadOf(100)));
}

TEST_F(DiskNewer, ObjectInPlaceOfABadOneIsNotWrittenOver) {
  const ObjectHeader header = Snapshot(TokensOf(10));
  fs_.Put(PathOf(NameOf(header)), PayloadOf(500));
  SteppedStore store(&fs_, Options());
  store.Settle();
  EXPECT_EQ(store->stats().corrupt, 1u);
  PutNewer(header, 1000);
  EXPECT_FALSE(store.Put(header, PayloadOf(100)));
  EXPECT_TRUE(IsUntouched(NameOf(header)));
}

TEST_F(DiskNewer, ObjectThatTookThePlaceOfOursIsAMissAndStays) {
  SteppedStore store(&fs_, Options());
  const ObjectHeader header = Snapshot(TokensOf(10));
  const ObjectName name = NameOf(header);
  ASSERT_TRUE(store.Put(header, PayloadOf(1000)));
  PutNewer(header, 1000);
  EXPECT_EQ(store->Read(name).error().code, ErrorCode::kUnsupported);
  // The caller does this with an object that it cannot read.
  store->Remove(name);
  store.Settle();
  EXPECT_TRUE(IsUntouched(name));
  EXPECT_EQ(store->TakeEvents().gone, Names{name});
  EXPECT_EQ(store->stats().objects, 0u);
  EXPECT_EQ(store->stats().bytes, kFront + 1000);
  EXPECT_EQ(store->stats().corrupt, 0u);
  EXPECT_EQ(store->stats().errors, 0u);
}

}  // namespace
}  // namespace cairn
