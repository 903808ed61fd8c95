// What is in memory and on disk, where what is on disk has lost some bits.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "store/disk_fixture.h"
#include "store/disk_store.h"
#include "store/fake_disk.h"
#include "store/snapshot_store.h"

namespace cairn {
namespace {

using test::PathOf;
using test::Snapshot;
using test::SteppedStore;
using test::TokensOf;
using Place = SnapshotStore::Place;

constexpr double kPatienceMs = 60'000;

// A minute from now.
class Deadline {
 public:
  // Waits a little, too.
  bool Passed() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::chrono::steady_clock::now() > at_;
  }

 private:
  const std::chrono::steady_clock::time_point at_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
};

// A process whose files are written with int8, whatever the bytes are.
class LossyProcess {
 public:
  explicit LossyProcess(MemoryFs* fs) {
    DiskStoreOptions options = SteppedStore::Options(fs);
    options.codec = Codec::kInt8;
    options.find_rows = [](ByteSpan bytes) {
      return std::vector<FloatRows>{{.offset = 0, .bytes = bytes.size(), .row_bytes = 512}};
    };
    disk_ = DiskStore::Open(fs, std::move(options));
    store_ = MakeTieredStore(disk_.get());
  }

  SnapshotStore* operator->() { return store_.get(); }
  // Waits for the disk, and takes the news.
  SnapshotStore::News Settle() {
    EXPECT_TRUE(disk_->Drain(kPatienceMs));
    return store_->TakeNews();
  }
  // What its first look at the folder finds.
  SnapshotStore::News WaitForFound() {
    SnapshotStore::News news;
    for (const Deadline deadline; news.found.empty() && !deadline.Passed();) {
      news = store_->TakeNews();
    }
    return news;
  }
  Bytes Read(SnapshotId id) {
    const auto bytes = store_->Get(id);
    EXPECT_TRUE(bytes.has_value());
    const Bytes read = bytes ? Bytes(bytes->begin(), bytes->end()) : Bytes();
    store_->Unload(id);
    return read;
  }

 private:
  std::unique_ptr<DiskStore> disk_;
  std::unique_ptr<SnapshotStore> store_;
};

Bytes SomeFloats() {
  std::vector<float> floats(2048);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = 0.01F * static_cast<float>(i % 331) - 1;
  Bytes bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

Bytes FileOf(const MemoryFs& fs, const ObjectName& name) {
  return fs.Read(PathOf(name), 0, fs.Stat(PathOf(name))->bytes).value();
}

TEST(TieredStore, NeverWritesAgainWhatItReadBackFromALossyFile) {
  MemoryFs fs;
  fs.SetNow(test::kStartNs);
  const Bytes state = SomeFloats();
  const ObjectHeader header = Snapshot(TokensOf(10));
  const ObjectName name = NameOf(header);
  LossyProcess first(&fs);
  ASSERT_TRUE(first->Put(1, state).has_value());
  ASSERT_TRUE(first->Save(1, header));
  first.Settle();
  ASSERT_EQ(first->PlaceOf(1), Place::kBoth);
  const Bytes file = FileOf(fs, name);
  first->Release(1);
  // For a moment the I/O thread may still hold what it has just written, and that is shared.
  Bytes back = first.Read(1);
  for (const Deadline deadline; back == state && !deadline.Passed();) back = first.Read(1);
  ASSERT_EQ(back.size(), state.size());
  ASSERT_NE(back, state) << "nothing was lost, so nothing is tried here";
  // It stays what is on disk only: there is nothing in memory that could be saved.
  EXPECT_EQ(first->PlaceOf(1), Place::kSavedOnly);
  EXPECT_EQ(first->bytes(), 0u);
  first.Settle();
  EXPECT_EQ(FileOf(fs, name), file);
  EXPECT_EQ(first->saved_stats().written, 1u);

  // Nor after a restart, though a slot that went back to it should be saved just there.
  LossyProcess second(&fs);
  ASSERT_EQ(second.WaitForFound().found.size(), 1u);
  second->Adopt(7, name);
  EXPECT_EQ(second.Read(7), back);
  ASSERT_TRUE(second->Put(8, back).has_value());
  ASSERT_TRUE(second->Save(8, header));
  second.Settle();
  EXPECT_EQ(second->PlaceOf(8), Place::kRefused);
  EXPECT_EQ(second->saved_stats().written, 0u);
  EXPECT_EQ(FileOf(fs, name), file);
}

TEST(TieredStore, KeepsTheFileOfWhatCouldNotBeReadJustNow) {
  test::FakeDisk disk;
  const ObjectHeader header = Snapshot(TokensOf(10));
  {
    const auto earlier = MakeTieredStore(&disk);
    ASSERT_TRUE(earlier->Put(1, SomeFloats()).has_value());
    ASSERT_TRUE(earlier->Save(1, header));
  }
  disk.Restart();
  const auto store = MakeTieredStore(&disk);
  ASSERT_EQ(store->TakeNews().found.size(), 1u);
  store->Adopt(1, NameOf(header));
  disk.FailReads(true);
  EXPECT_FALSE(store->Get(1).has_value());
  // As the cache does with what is of no use.
  store->Erase(1);
  EXPECT_TRUE(disk.Holds(NameOf(header)));
  disk.FailReads(false);
  // Made anew, it is known to be there.
  ASSERT_TRUE(store->Put(2, SomeFloats()).has_value());
  ASSERT_TRUE(store->Save(2, header));
  store->TakeNews();
  EXPECT_EQ(store->PlaceOf(2), Place::kBoth);
}

TEST(TieredStore, OffersAgainWhatTheFolderFailedToTake) {
  test::FakeDisk disk;
  const auto store = MakeTieredStore(&disk);
  const ObjectHeader header = Snapshot(TokensOf(10));
  ASSERT_TRUE(store->Put(1, SomeFloats()).has_value());
  disk.FailWrites(true);
  ASSERT_TRUE(store->Save(1, header));
  EXPECT_EQ(store->PlaceOf(1), Place::kSaving);
  store->TakeNews();
  EXPECT_EQ(store->PlaceOf(1), Place::kUnsaved);
  disk.FailWrites(false);
  ASSERT_TRUE(store->Save(1, header));
  store->TakeNews();
  EXPECT_EQ(store->PlaceOf(1), Place::kBoth);
}

// Or by a process that does not know yet that it is there.
TEST(TieredStore, WritesNothingOverAnothersLossyFile) {
  MemoryFs fs;
  fs.SetNow(test::kStartNs);
  const ObjectHeader header = Snapshot(TokensOf(10));
  const auto other_fs = fs.AnotherProcess();
  LossyProcess ours(&fs);
  LossyProcess theirs(other_fs.get());
  ASSERT_TRUE(theirs->Put(1, SomeFloats()).has_value());
  ASSERT_TRUE(theirs->Save(1, header));
  theirs.Settle();
  const Bytes file = FileOf(fs, NameOf(header));
  ASSERT_TRUE(ours->Put(1, SomeFloats()).has_value());
  ASSERT_TRUE(ours->Save(1, header));
  ours.Settle();
  EXPECT_EQ(ours->PlaceOf(1), Place::kBoth);
  EXPECT_EQ(ours->saved_stats().written, 0u);
  EXPECT_EQ(FileOf(fs, NameOf(header)), file);
}

}  // namespace
}  // namespace cairn
