#include "cache/disk/disk_loader.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cache/checkpoint_cache.h"
#include "testing/store/fake_disk.h"

namespace cairn::disk_loader_test {
namespace {

constexpr double kSlow = 100;  // milliseconds per token: everything is worth saving
constexpr NamespaceId kClient = 3;
constexpr size_t kBytes = 10'000;
constexpr size_t kObjects = 5;
constexpr size_t kStep = 100;

// A cache on a disk that an earlier process filled with checkpoints of one prompt.
class DiskLoaderTest : public ::testing::Test {
 protected:
  DiskLoaderTest() {
    const auto before = CacheOf(1 << 20);
    for (size_t i = 1; i <= kObjects; ++i) {
      Checkpoint what;
      // Of a class that several prompts share, so that all are saved.
      what.checkpoint_class = CheckpointClass::kHeader;
      const auto id = before->Insert(kClient, Prompt(i * kStep), what, Bytes(kBytes, 7));
      EXPECT_TRUE(id.has_value());
    }
    while (before->SaveNext(kSlow).began) {
    }
    Restart(1 << 20);
  }

  static Tokens Prompt(size_t tokens) { return Tokens(tokens, 'x'); }

  void Restart(size_t ram_bytes_max) {
    cache_ = CacheOf(ram_bytes_max);
    disk_.Restart();
    cache_->TakeEvents();
    ids_.clear();
    for (const Checkpoint& found : cache_->Match(kClient, Prompt(1000)).checkpoints) {
      ids_.push_back(found.id);
    }
    ASSERT_EQ(ids_.size(), kObjects);
  }

  size_t InMemory() const {
    size_t count = 0;
    for (const CheckpointId id : ids_) count += cache_->InMemory(id) ? 1 : 0;
    return count;
  }

  DiskLoader& loader() { return cache_->loader(); }

  test::FakeDisk disk_;
  std::unique_ptr<CheckpointCache> cache_;
  std::vector<uint64_t> ids_;

 private:
  std::unique_ptr<CheckpointCache> CacheOf(size_t ram_bytes_max) {
    CacheOptions options;
    options.ram_bytes_max = ram_bytes_max;
    auto cache = std::make_unique<CheckpointCache>(options, *MakePlacement("near-end"),
                                                   *MakeEviction("value"), MakeTieredStore(&disk_));
    cache->SetSavedAs({{1, 2}, {{kClient, 33}}});
    return cache;
  }
};

TEST_F(DiskLoaderTest, ReadsObjectsIntoMemoryAndSaysWhenAllAreThere) {
  disk_.SetReads(false);
  const DiskLoader::LoadId load = loader().Begin(ids_);
  cache_->TakeEvents();
  EXPECT_TRUE(loader().IsLoading(load));
  EXPECT_EQ(InMemory(), 0u);
  disk_.SetReads(true);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(load));
  EXPECT_EQ(InMemory(), kObjects);
  EXPECT_EQ(disk_.reads(), kObjects);
  cache_->CheckInvariants();
  for (const uint64_t id : ids_) EXPECT_TRUE(loader().FromDisk(id)) << "it was read for this load";
  ASSERT_TRUE(cache_->Pin(ids_.front()).has_value());
  cache_->Unpin(ids_.front());
  EXPECT_EQ(disk_.reads(), kObjects) << "using it reads nothing";
  loader().End(load);
  for (const uint64_t id : ids_) EXPECT_FALSE(loader().FromDisk(id));
  EXPECT_EQ(InMemory(), kObjects) << "it stays until the room is needed";
}

TEST_F(DiskLoaderTest, ReadsAnObjectOfTwoLoadsOnce) {
  disk_.SetReads(false);
  const DiskLoader::LoadId first = loader().Begin(ids_);
  const DiskLoader::LoadId second = loader().Begin(ids_);
  disk_.SetReads(true);
  cache_->TakeEvents();
  EXPECT_EQ(disk_.reads(), kObjects);
  loader().End(first);
  EXPECT_TRUE(loader().FromDisk(ids_.front())) << "the second load has not ended";
  EXPECT_FALSE(loader().IsLoading(second));
}

TEST_F(DiskLoaderTest, StaysInsideTheBudgetAndLeavesTheRestToItsUse) {
  Restart(3 * kBytes);
  const DiskLoader::LoadId load = loader().Begin(ids_);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(load));
  EXPECT_GT(InMemory(), 0u);
  EXPECT_LT(InMemory(), 3u);
  cache_->CheckInvariants();
  ASSERT_TRUE(cache_->Pin(ids_.back()).has_value()) << "it is read when it is used";
  cache_->Unpin(ids_.back());
  loader().End(load);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, ALoadThatHasNoRoomWaitsUntilTheOneBeforeItEnds) {
  Restart(5 * kBytes);
  const DiskLoader::LoadId first = loader().Begin({ids_[0], ids_[1]});
  const DiskLoader::LoadId second = loader().Begin({ids_[2], ids_[3]});
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(first));
  EXPECT_TRUE(loader().IsLoading(second)) << "read when it is used, it would wait for the disk";
  loader().End(first);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(second));
  EXPECT_TRUE(cache_->InMemory(ids_[2]) && cache_->InMemory(ids_[3]));
  loader().End(second);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, ALoadThatStreamsPassesThroughLittleMemoryAndReadsNothingTwice) {
  Restart(4 * kBytes);
  const DiskLoader::LoadId load = loader().Begin(ids_, DiskLoader::Kind::kStreams);
  EXPECT_FALSE(loader().IsLoading(load)) << "it is used while it is read";
  for (const uint64_t id : ids_) {
    for (int i = 0; i < 3 && loader().IsToRead(load, id); ++i) cache_->TakeEvents();
    ASSERT_FALSE(loader().IsToRead(load, id));
    EXPECT_TRUE(cache_->InMemory(id));
    EXPECT_TRUE(loader().FromDisk(id));
    loader().Used(load, id);
    EXPECT_FALSE(loader().FromDisk(id) && cache_->InMemory(id)) << "its memory is free";
    cache_->CheckInvariants();
  }
  EXPECT_EQ(disk_.reads(), kObjects);
  loader().End(load);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, AnObjectThatNeverFitsEndsALoadThatStreams) {
  Restart(kBytes);
  const DiskLoader::LoadId load = loader().Begin(ids_, DiskLoader::Kind::kStreams);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsToRead(load, ids_.front())) << "it is read when it is used";
  loader().End(load);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, AnObjectThatIsDroppedWhileItIsReadDoesNotEndTheProcess) {
  disk_.SetReads(false);
  loader().End(loader().Begin({ids_.front()}, DiskLoader::Kind::kStreams));
  cache_->Discard(ids_.front());
  const DiskLoader::LoadId load = loader().Begin({ids_.back()}, DiskLoader::Kind::kStreams);
  disk_.SetReads(true);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsToRead(load, ids_.back()));
  loader().End(load);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, PinsWhatALoadIsForUntilItEnds) {
  Restart(3 * kBytes);
  const std::vector<uint64_t> one = {ids_.front()};
  const DiskLoader::LoadId load = loader().Begin(one);
  cache_->TakeEvents();
  cache_->SetBudget(1);
  EXPECT_TRUE(cache_->InMemory(ids_.front()));
  loader().End(load);
  cache_->SetBudget(1);
  EXPECT_FALSE(cache_->InMemory(ids_.front()));
}

TEST_F(DiskLoaderTest, RemovesAnObjectThatCannotBeRead) {
  disk_.FailReads(true);
  const DiskLoader::LoadId load = loader().Begin(ids_);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(load)) << "nobody waits for what does not come";
  EXPECT_LT(cache_->Match(kClient, Prompt(1000)).checkpoints.size(), kObjects);
  loader().End(load);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, LetsAnObjectBeDiscardedWhileItIsRead) {
  disk_.SetReads(false);
  const DiskLoader::LoadId load = loader().Begin(ids_);
  cache_->Discard(ids_.front());
  disk_.SetReads(true);
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(load));
  EXPECT_EQ(cache_->Match(kClient, Prompt(1000)).checkpoints.size(), kObjects - 1);
  loader().End(load);
  cache_->CheckInvariants();
}

TEST_F(DiskLoaderTest, GoesOnAfterALoadWhoseObjectsWereEvictedWhileTheyWereRead) {
  disk_.SetReads(false);
  const DiskLoader::LoadId given_up = loader().Begin(ids_);
  loader().End(given_up);
  for (const uint64_t id : {ids_[0], ids_[1]}) cache_->Discard(id);
  disk_.SetReads(true);
  cache_->TakeEvents();
  const DiskLoader::LoadId load = loader().Begin({ids_[2], ids_[3]});
  cache_->TakeEvents();
  EXPECT_FALSE(loader().IsLoading(load));
  EXPECT_TRUE(cache_->InMemory(ids_[2]));
  EXPECT_TRUE(cache_->InMemory(ids_[3]));
}

}  // namespace
}  // namespace cairn::disk_loader_test
