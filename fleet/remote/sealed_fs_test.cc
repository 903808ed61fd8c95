#include "fleet/remote/sealed_fs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/disk/disk_worker.h"
#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

constexpr size_t kFrame = size_t{64} << 10;
const std::string kFirstKey = "the first key, which has 32 characters or more\n";
const std::string kOtherKey = "another key, which has 32 characters or more\n";

class SealedFsTest : public testing::Test {
 protected:
  SealedFsTest() {
    device_.SetNow(test::kStartNs);
    EXPECT_TRUE(device_.MakeFolders("/d"));
  }

  std::unique_ptr<Fs> Open(const std::string& keys = kFirstKey, PlainFiles plain = {}) {
    return MakeSealedFs(device_.AnotherProcess(), *RemoteKeys::Parse(keys), std::move(plain));
  }
  // Appends the bytes in pieces of up to `piece_bytes`.
  static void Write(Fs* fs, const std::string& path, ByteSpan bytes, size_t piece_bytes) {
    auto file = fs->Create(path);
    ASSERT_TRUE(file.has_value());
    while (!bytes.empty()) {
      const ByteSpan piece = bytes.first(std::min(bytes.size(), piece_bytes));
      ASSERT_TRUE((*file)->Append(piece));
      bytes = bytes.subspan(piece.size());
    }
    ASSERT_TRUE((*file)->Sync());
    ASSERT_TRUE((*file)->Close());
  }
  uint64_t StoredBytes(const std::string& path) const { return device_.Stat(path)->bytes; }
  Bytes Stored(const std::string& path) const { return *device_.Read(path, 0, StoredBytes(path)); }

  MemoryFs device_;
};

TEST_F(SealedFsTest, ReadsAnyPartOfFilesOfAllLengths) {
  const auto fs = Open();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, kFrame - 1, kFrame, kFrame + 1,
                             2 * kFrame, 3 * kFrame + 17, 70 * kFrame + 5}) {
    const Bytes plain = test::PayloadOf(bytes, bytes + 1);
    Write(fs.get(), "/d/a", plain, bytes / 3 + 1);
    EXPECT_EQ(fs->Stat("/d/a")->bytes, bytes);
    EXPECT_EQ(*fs->Read("/d/a", 0, bytes + 100), plain);
    for (const size_t offset : {size_t{0}, size_t{1}, bytes / 2, kFrame - 1, kFrame, bytes}) {
      for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, kFrame, kFrame + 1}) {
        const size_t from = std::min(offset, bytes);
        const size_t to = std::min(bytes, from + size);
        EXPECT_EQ(*fs->Read("/d/a", offset, size),
                  Bytes(plain.begin() + static_cast<std::ptrdiff_t>(from),
                        plain.begin() + static_cast<std::ptrdiff_t>(to)))
            << bytes << " bytes, from " << offset << ", " << size;
      }
    }
  }
}

TEST_F(SealedFsTest, LeavesNothingReadableOnTheDevice) {
  const std::string secret = "the launch code is 4711, do not tell anyone about it";
  const auto fs = Open();
  Write(fs.get(), "/d/a", BytesOf(secret), 7);
  Write(fs.get(), "/d/b", BytesOf(secret), 7);
  const std::string stored(TextView(Stored("/d/a")));
  for (size_t at = 0; at + 8 <= secret.size(); ++at) {
    EXPECT_EQ(stored.find(secret.substr(at, 8)), std::string::npos) << at;
  }
  EXPECT_NE(Stored("/d/a"), Stored("/d/b")) << "the same content twice does not show";
}

TEST_F(SealedFsTest, EveryFlippedBitAndEveryCutIsRefused) {
  const auto fs = Open();
  const Bytes plain = test::PayloadOf(100);
  Write(fs.get(), "/d/a", plain, 100);
  const uint64_t stored = StoredBytes("/d/a");
  for (uint64_t bit = 0; bit < 8 * stored; ++bit) {
    device_.FlipBit("/d/a", bit);
    const auto read = fs->Read("/d/a", 0, 100);
    ASSERT_FALSE(read.has_value()) << "bit " << bit;
    const bool refused =
        read.error().code == ErrorCode::kCorrupt || read.error().code == ErrorCode::kUnsupported;
    EXPECT_TRUE(refused) << bit;
    device_.FlipBit("/d/a", bit);
  }
  ASSERT_EQ(*fs->Read("/d/a", 0, 100), plain);
  const Bytes two = test::PayloadOf(2 * kFrame);
  Write(fs.get(), "/d/b", two, two.size());
  // At the end of a frame too: the last one is marked.
  for (const uint64_t bytes : {2 * (kFrame + 16) + 64 - 1, kFrame + 16 + 64, kFrame + 64,
                               uint64_t{80}, uint64_t{64}, uint64_t{10}}) {
    device_.Truncate("/d/b", bytes);
    EXPECT_FALSE(fs->Read("/d/b", 0, 2 * kFrame).has_value()) << bytes;
  }
}

TEST_F(SealedFsTest, TakesNoFrameOfAnotherFile) {
  const auto fs = Open();
  Write(fs.get(), "/d/a", test::PayloadOf(3 * kFrame, 1), kFrame);
  Write(fs.get(), "/d/b", test::PayloadOf(3 * kFrame, 2), kFrame);
  Bytes mixed = Stored("/d/a");
  const Bytes other = Stored("/d/b");
  const size_t at = 64 + kFrame + 16;
  std::copy_n(other.begin() + at, kFrame + 16, mixed.begin() + at);
  device_.Put("/d/a", mixed);
  EXPECT_TRUE(fs->Read("/d/a", 0, kFrame).has_value());
  EXPECT_EQ(fs->Read("/d/a", kFrame, 1).error().code, ErrorCode::kCorrupt);
}

TEST_F(SealedFsTest, LeavesFilesOfOtherKeysAloneAndOpensThoseOfThePreviousOne) {
  Write(Open().get(), "/d/a", BytesOf("text"), 4);
  EXPECT_EQ(Open(kOtherKey)->Read("/d/a", 0, 4).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(TextView(*Open(kOtherKey + kFirstKey)->Read("/d/a", 0, 4)), "text");
}

TEST_F(SealedFsTest, RefusesPlainFilesReplacesThemInItsOwnFolderAndReadsThemForTheTools) {
  device_.Put("/d/a", BytesOf("text"));
  EXPECT_EQ(Open()->Read("/d/a", 0, 4).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(Open(kFirstKey, {.replaced_in = "/d"})->Read("/d/a", 0, 4).error().code,
            ErrorCode::kCorrupt);
  EXPECT_EQ(Open(kFirstKey, {.replaced_in = "/e"})->Read("/d/a", 0, 4).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(TextView(*Open(kFirstKey, {.read = true})->Read("/d/a", 0, 4)), "text");
  EXPECT_EQ(Open()->Stat("/d/a")->bytes, 4u);
}

// A disk store on the sealed file system, stepped by hand.
class SealedStoreTest : public SealedFsTest {
 protected:
  static DiskStoreOptions Options() {
    DiskStoreOptions options;
    options.folder = test::kFolder;
    options.fingerprint = test::kModel;
    options.reserve_bytes = 0;
    options.now_ns = [] { return test::kStartNs; };
    return options;
  }
  static void Settle(DiskWorker* store) {
    while (store->Step() == 0) {
    }
  }
  static bool Put(DiskWorker* store, const ObjectHeader& header, Bytes bytes) {
    EXPECT_TRUE(store->Write(header, test::Shared(std::move(bytes))));
    Settle(store);
    return store->TakeEvents().written.size() == 1;
  }

  const ObjectHeader header_ = test::Snapshot(test::TokensOf(10, 1));
  const ObjectName name_ = NameOf(header_);
  const Bytes payload_ = test::PayloadOf(200'000);
};

TEST_F(SealedStoreTest, AStoreFindsItsObjectsAgainWithTheKey) {
  const auto fs = Open();
  {
    DiskWorker store(fs.get(), Options());
    Settle(&store);
    ASSERT_TRUE(Put(&store, header_, payload_));
  }
  DiskWorker store(fs.get(), Options());
  Settle(&store);
  EXPECT_EQ(store.TakeEvents().found.size(), 1u);
  EXPECT_EQ(*store.Read(name_), payload_);
  EXPECT_EQ(store.stats().corrupt, 0u);
}

TEST_F(SealedStoreTest, AServerWithoutTheKeyNeitherReadsNorRemovesIt) {
  const auto fs = Open();
  DiskWorker sealed(fs.get(), Options());
  ASSERT_TRUE(Put(&sealed, header_, payload_));
  const auto other_fs = Open(kOtherKey);
  for (Fs* const without : {static_cast<Fs*>(&device_), other_fs.get()}) {
    DiskWorker store(without, Options());
    Settle(&store);
    EXPECT_TRUE(store.TakeEvents().found.empty());
    EXPECT_EQ(store.Read(name_).error().code, ErrorCode::kUnsupported);
    EXPECT_FALSE(Put(&store, header_, payload_));
    EXPECT_EQ(store.stats().corrupt, 0u);
  }
  EXPECT_EQ(*sealed.Read(name_), payload_);
}

TEST_F(SealedStoreTest, WhatWasWrittenWithoutAKeyIsReplaced) {
  {
    DiskWorker plain(&device_, Options());
    ASSERT_TRUE(Put(&plain, header_, payload_));
  }
  const auto fs = Open(kFirstKey, {.replaced_in = test::ModelPath()});
  DiskWorker store(fs.get(), Options());
  Settle(&store);
  EXPECT_TRUE(store.TakeEvents().found.empty());
  ASSERT_TRUE(Put(&store, header_, payload_));
  EXPECT_EQ(*store.Read(name_), payload_);
  EXPECT_TRUE(StartsWith(Stored(test::PathOf(name_)), TextView(kSealedFileMagic)));
}

}  // namespace
}  // namespace cairn
