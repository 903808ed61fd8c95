// Files that another thread of the same process puts into the folder.

#include <gtest/gtest.h>

#include "store/disk/disk_files.h"
#include "store/disk/disk_store.h"
#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::ModelPath;
using test::NamesOf;
using test::PayloadOf;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;

constexpr size_t kPayloadBytes = 10'000;

class DiskAdoptTest : public test::DiskStoreTest {
 protected:
  // Puts an object's file into the folder.
  ObjectName Place(ObjectHeader header) {
    const Bytes payload = PayloadOf(kPayloadBytes);
    header.raw_bytes = header.stored_bytes = payload.size();
    header.payload_checksum = PayloadChecksum(payload);
    Bytes file = EncodeHeader(header);
    file.insert(file.end(), payload.begin(), payload.end());
    EXPECT_TRUE(PutFile(&fs_, ModelPath(), ObjectFileName(NameOf(header)), file));
    return NameOf(header);
  }
};

TEST_F(DiskAdoptTest, FileIsReportedBeforeTheNextScan) {
  SteppedStore store(&fs_, Options());
  store.Settle();
  const ObjectName name = Place(Snapshot(TokensOf(100)));
  store.Settle();
  EXPECT_TRUE(store->TakeEvents().found.empty());
  EXPECT_FALSE(store->Adopt(name, 0));  // nobody steps meanwhile
  store.Settle();
  EXPECT_EQ(NamesOf(store->TakeEvents().found), std::vector<ObjectName>{name});
  EXPECT_TRUE(store->Read(name));
  // The scan does not report it again.
  store.Rescan();
  EXPECT_TRUE(store->TakeEvents().found.empty());
}

TEST_F(DiskAdoptTest, BadAndMissingFilesAreNotReported) {
  SteppedStore store(&fs_, Options());
  store.Settle();
  const ObjectName name = Place(Snapshot(TokensOf(100)));
  ASSERT_TRUE(PutFile(&fs_, ModelPath(), ObjectFileName(name), BytesOf("nonsense")));
  (void)store->Adopt(name, 0);
  (void)store->Adopt({1, 2}, 0);
  store.Settle();
  EXPECT_TRUE(store->TakeEvents().found.empty());
  EXPECT_EQ(store->stats().corrupt, 1U);
}

TEST_F(DiskAdoptTest, FolderStaysWithinItsBudget) {
  DiskStoreOptions options = Options();
  options.bytes_max = 3 * (kPayloadBytes + test::kFront);
  SteppedStore store(&fs_, options);
  store.Settle();
  for (Token line = 0; line < 6; ++line) {
    (void)store->Adopt(Place(Snapshot(TokensOf(100, line), 1000 + line)), 0);
    store.Settle();
  }
  EXPECT_LE(store->stats().bytes, options.bytes_max);
  EXPECT_EQ(store->stats().evicted, 3U);
}

TEST_F(DiskAdoptTest, WritesAndUsesAreTold) {
  std::vector<ObjectName> written;
  std::vector<ObjectName> used;
  DiskStoreOptions options = Options();
  options.on_written = [&](const ObjectHeader& header) { written.push_back(NameOf(header)); };
  options.on_used = [&](const ObjectName& name) { used.push_back(name); };
  SteppedStore store(&fs_, options);
  const ObjectHeader header = Snapshot(TokensOf(100));
  ASSERT_TRUE(store.Put(header, PayloadOf(10)));
  const ObjectName placed = Place(Snapshot(TokensOf(200)));
  (void)store->Adopt(placed, 0);
  store->Touch(NameOf(header));
  store.Settle();
  EXPECT_EQ(written, std::vector<ObjectName>{NameOf(header)});
  EXPECT_EQ(used, std::vector<ObjectName>{NameOf(header)});
}

TEST_F(DiskAdoptTest, WaitEndsWhenTheStoreStops) {
  DiskStoreOptions options = Options();
  const auto store = DiskStore::Open(&fs_, options);
  const ObjectName name = Place(Snapshot(TokensOf(100)));
  EXPECT_TRUE(store->Adopt(name, 60'000));
  EXPECT_EQ(NamesOf(store->TakeEvents().found), std::vector<ObjectName>{name});
  store->Stop();
  EXPECT_FALSE(store->Adopt(name, 60'000));
}

}  // namespace
}  // namespace cairn
