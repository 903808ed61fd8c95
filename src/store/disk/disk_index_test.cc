#include "store/disk/disk_index.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kSecondNs;

constexpr int64_t kNowNs = int64_t{1'800'000'000} * kSecondNs;
constexpr double kHalfLifeS = 100;
constexpr int64_t kHalfLifeNs = 100 * kSecondNs;

TEST(ObjectRank, FallsByOneInAHalfLifeAndRisesByOneWithTwiceTheWorth) {
  const double rank = ObjectRank(1000, 50, kNowNs, kNowNs, kHalfLifeS);
  EXPECT_NEAR(rank - ObjectRank(1000, 50, kNowNs - kHalfLifeNs, kNowNs, kHalfLifeS), 1, 1e-6);
  EXPECT_NEAR(ObjectRank(2000, 50, kNowNs, kNowNs, kHalfLifeS) - rank, 1, 1e-6);
  EXPECT_NEAR(rank - ObjectRank(1000, 100, kNowNs, kNowNs, kHalfLifeS), 1, 1e-6);
}

TEST(ObjectRank, OrdersTwoObjectsAlikeAtAnyLaterMoment) {
  const auto first_is_higher = [](int64_t now_ns) {
    return ObjectRank(1000, 50, kNowNs - 3 * kHalfLifeNs, now_ns, kHalfLifeS) >
           ObjectRank(100, 50, kNowNs, now_ns, kHalfLifeS);
  };
  EXPECT_TRUE(first_is_higher(kNowNs));
  EXPECT_TRUE(first_is_higher(kNowNs + 50 * kHalfLifeNs));
}

TEST(ObjectRank, IsANumberWhateverAFileSays) {
  for (const double worth :
       {0.0, -5.0, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const int64_t time_ns :
         {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
      EXPECT_TRUE(std::isfinite(ObjectRank(worth, 0, time_ns, kNowNs, kHalfLifeS)));
    }
  }
}

TEST(ObjectRank, BelievesNoTimeThatAClockGoneWrongHasLeftBehind) {
  constexpr int64_t kYearNs = int64_t{365} * 86'400 * kSecondNs;
  const double now = ObjectRank(1000, 50, kNowNs, kNowNs, kHalfLifeS);
  EXPECT_NEAR(ObjectRank(1000, 50, kNowNs + 10 * kYearNs, kNowNs, kHalfLifeS), now - 1, 1e-6);
  // A time that uses can explain is believed.
  EXPECT_GT(ObjectRank(1000, 50, kNowNs + 19 * kHalfLifeNs, kNowNs, kHalfLifeS), now);
}

TEST(TimeAfterUses, CountsWhatIsLeftOfEarlierUses) {
  // One use now counts for the use and for the writing.
  EXPECT_EQ(TimeAfterUses(kNowNs, kNowNs, 1, kHalfLifeS), kNowNs + kHalfLifeNs);
  EXPECT_EQ(TimeAfterUses(kNowNs, kNowNs, 3, kHalfLifeS), kNowNs + 2 * kHalfLifeNs);
  // A half-life later, half a use is left.
  EXPECT_NEAR(
      static_cast<double>(TimeAfterUses(kNowNs - kHalfLifeNs, kNowNs, 1, kHalfLifeS) - kNowNs),
      std::log2(1.5) * static_cast<double>(kHalfLifeNs), 1e3);
  // Uses of long ago do not count.
  EXPECT_EQ(TimeAfterUses(0, kNowNs, 1, kHalfLifeS), kNowNs);
}

TEST(TimeAfterUses, AddsUpTheSameInOneStepAndInMany) {
  int64_t by_one = kNowNs;
  for (int i = 0; i < 7; ++i) by_one = TimeAfterUses(by_one, kNowNs, 1, kHalfLifeS);
  const int64_t at_once = TimeAfterUses(kNowNs, kNowNs, 7, kHalfLifeS);
  EXPECT_NEAR(static_cast<double>(by_one - at_once), 0, 1e4);
}

TEST(TimeAfterUses, BelievesNoTimeThatIsFarAhead) {
  const int64_t time_ns = TimeAfterUses(std::numeric_limits<int64_t>::max(), kNowNs, 1, kHalfLifeS);
  EXPECT_LT(time_ns, kNowNs + 21 * kHalfLifeNs);
  EXPECT_GT(TimeAfterUses(kNowNs, kNowNs, 1, 1e300), kNowNs);
}

using test::kModel;
using test::kStartNs;
using test::Segment;
using test::Snapshot;
using test::TokensOf;

constexpr double kLongHalfLifeS = 3600;

class Index {
 public:
  ObjectName Put(const ObjectHeader& header, uint64_t bytes = 100, int64_t age_s = 0) {
    const ObjectName name = NameOf(header);
    index_.Put(DiskIndex::EntryOf(header, name, FileStat{bytes, kStartNs - age_s * kSecondNs}));
    return name;
  }
  // Returns the names of those to evict; a single empty name if that many bytes cannot be freed.
  std::vector<ObjectName> ToFree(uint64_t bytes, const ObjectName& incoming = {}) {
    const DiskEntry* const entry =
        incoming.empty() ? nullptr : index_.Find(ToText(kModel), incoming);
    const auto entries = index_.ToFree(bytes, entry, kStartNs, kLongHalfLifeS);
    if (!entries) return {ObjectName{}};
    std::vector<ObjectName> names;
    for (const DiskEntry& evicted : *entries) names.push_back(evicted.name);
    return names;
  }
  DiskIndex& operator*() { return index_; }
  DiskIndex* operator->() { return &index_; }

 private:
  DiskIndex index_;
};

using Names = std::vector<ObjectName>;
const Names kNotSoMuch = {ObjectName{}};

TEST(DiskIndex, EvictsTheLeastRankFirstAndNoMoreThanNeeded) {
  Index index;
  const ObjectName dear = index.Put(Snapshot(TokensOf(10, 1), 1000));
  const ObjectName cheap = index.Put(Snapshot(TokensOf(10, 2), 10));
  const ObjectName old = index.Put(Snapshot(TokensOf(10, 3), 1000), 100, 10 * 3600);
  const ObjectName large = index.Put(Snapshot(TokensOf(10, 4), 1000), 1'000'000);
  EXPECT_EQ(index.ToFree(0), Names{});
  EXPECT_EQ(index.ToFree(1), Names{large});
  EXPECT_EQ(index.ToFree(1'000'000), Names{large});
  EXPECT_EQ(index.ToFree(1'000'001), (Names{large, old}));
  EXPECT_EQ(index.ToFree(1'000'300), (Names{large, old, cheap, dear}));
  EXPECT_EQ(index.ToFree(1'000'301), kNotSoMuch);
  EXPECT_EQ(index->bytes(), 1'000'300u);
}

TEST(DiskIndex, KeepsASegmentAsLongAsWhatBeginsInIt) {
  Index index;
  const ObjectName parent = index.Put(Segment(TokensOf(100), 0, {}, 1));
  const ObjectName child = index.Put(Segment(TokensOf(200), 100, parent, 1000));
  const ObjectName other = index.Put(Snapshot(TokensOf(10, 1), 10));
  EXPECT_EQ(index.ToFree(100), (Names{other}));
  EXPECT_EQ(index.ToFree(300), (Names{other, child, parent}));
}

TEST(DiskIndex, KeepsASegmentAsLongAsASnapshotThatStandsOnIt) {
  // Within a block, at its edges and beyond.
  constexpr size_t kBlock = DiskIndex::kBlockTokens;
  for (const size_t position :
       {size_t{301}, kBlock, kBlock + 1, 2 * kBlock - 1, 2 * kBlock, 3 * kBlock}) {
    Index index;
    const ObjectName front = index.Put(Segment(TokensOf(300), 0, {}, 1));
    const ObjectName segment = index.Put(Segment(TokensOf(3 * kBlock), 300, front, 1));
    const ObjectName snapshot = index.Put(Snapshot(TokensOf(position), 1000));
    const ObjectName other = index.Put(Snapshot(TokensOf(10, 1), 10));
    EXPECT_EQ(index.ToFree(400), (Names{other, snapshot, segment, front})) << position;
  }
}

TEST(DiskIndex, KeepsNoSegmentForASnapshotOfOtherTokensOrAnotherRun) {
  constexpr size_t kBlock = DiskIndex::kBlockTokens;
  Index index;
  const ObjectName segment = index.Put(Segment(TokensOf(3 * kBlock), 0, {}, 1));
  index.Put(Snapshot(TokensOf(3 * kBlock, 1, kBlock), 1000));
  ObjectHeader of_a_run = Snapshot(TokensOf(3 * kBlock), 1000);
  of_a_run.lineage = 7;
  index.Put(of_a_run);
  ObjectHeader of_another_client = Snapshot(TokensOf(3 * kBlock), 1000);
  of_another_client.name_space = 7;
  index.Put(of_another_client);
  index.Put(Snapshot(TokensOf(3 * kBlock + 1), 1000));
  EXPECT_EQ(index.ToFree(100), (Names{segment}));
}

TEST(DiskIndex, EvictsAllOthersBeforeWhatComesWhateverItsRank) {
  Index index;
  const ObjectName dear = index.Put(Snapshot(TokensOf(10, 1), 1000));
  const ObjectName cheap = index.Put(Snapshot(TokensOf(10, 2), 10));
  const ObjectName comes = index.Put(Snapshot(TokensOf(10, 3), 1));
  EXPECT_EQ(index.ToFree(100, comes), (Names{cheap}));
  EXPECT_EQ(index.ToFree(200, comes), (Names{cheap, dear}));
  EXPECT_EQ(index.ToFree(201, comes), kNotSoMuch);
}

TEST(DiskIndex, EvictsNothingThatWhatComesNeeds) {
  Index index;
  const ObjectName parent = index.Put(Segment(TokensOf(100), 0, {}, 1));
  const ObjectName comes = index.Put(Segment(TokensOf(200), 100, parent, 1000));
  EXPECT_EQ(index.ToFree(1, comes), kNotSoMuch);
}

TEST(DiskIndex, EvictsBadFilesBeforeAllOthers) {
  Index index;
  index.Put(Snapshot(TokensOf(10, 1), 0), 100, 1000 * 3600);
  const ObjectName bad{1, 2};
  index->Put(DiskIndex::BadEntry(ToText(kModel), bad, FileStat{50, kStartNs}));
  EXPECT_EQ(index.ToFree(1), (Names{bad}));
  EXPECT_EQ(index->GoodObjects(ToText(kModel)), 1u);
}

// Only its size and its time are known.
TEST(DiskIndex, RanksANewerVersionsByItsTimeAmongOthersOfMiddlingWorth) {
  Index index;
  const ObjectName dear = index.Put(Snapshot(TokensOf(10, 1), 8000));
  const ObjectName middling = index.Put(Snapshot(TokensOf(10, 2), 1000));
  const ObjectName cheap = index.Put(Snapshot(TokensOf(10, 3), 10));
  // Whatever their sizes, one is slightly older than the middling one, and one slightly younger.
  const ObjectName older{1, 2};
  const ObjectName younger{1, 3};
  const auto put = [&](const ObjectName& name, uint64_t bytes, int64_t age_s) {
    index->Put(
        DiskIndex::NewerEntry(ToText(kModel), name, FileStat{bytes, kStartNs - age_s * kSecondNs}));
  };
  put(older, 5000, 60);
  put(younger, 5, -60);
  EXPECT_EQ(index.ToFree(5305), (Names{cheap, older, middling, younger, dear}));
  EXPECT_EQ(index->bytes(), 5305u);
  EXPECT_EQ(index->GoodObjects(ToText(kModel)), 3u);
  EXPECT_EQ(index.ToFree(101, middling), (Names{cheap, older}));
}

TEST(DiskIndex, RanksANewerVersionsAmongThemselvesByTimeAlone) {
  Index index;
  Names oldest_first;
  for (uint64_t i = 1; i <= 5; ++i) {
    const ObjectName name{i, 0};
    const auto age_s = static_cast<int64_t>(i);
    index->Put(DiskIndex::NewerEntry(ToText(kModel), name,
                                     FileStat{100 * i, kStartNs - age_s * kSecondNs}));
    oldest_first.insert(oldest_first.begin(), name);
  }
  EXPECT_EQ(index.ToFree(1500), oldest_first);
}

TEST(DiskIndex, KeepsWhatCannotBeRemovedAndAllThatItNeeds) {
  Index index;
  const ObjectName parent = index.Put(Segment(TokensOf(100), 0, {}, 1));
  const ObjectName child = index.Put(Segment(TokensOf(200), 100, parent, 1));
  const ObjectName other = index.Put(Snapshot(TokensOf(300, 1), 10));
  index->SetStuck(ToText(kModel), child);
  EXPECT_EQ(index.ToFree(100), (Names{other}));
  EXPECT_EQ(index.ToFree(101), kNotSoMuch);
  index->ClearStuck();
  EXPECT_EQ(index.ToFree(300), (Names{child, parent, other}));
}

TEST(DiskIndex, SurvivesParentsThatGoInARing) {
  Index index;
  ObjectHeader a = Segment(TokensOf(200), 100, ObjectName{9, 9});
  const ObjectName name_a = index.Put(a);
  const ObjectName name_b = index.Put(Segment(TokensOf(300), 100, name_a));
  // Names are hashes, so no real object is its own ancestor; but a file may claim anything.
  a.parent = name_b;
  index->Put(DiskIndex::EntryOf(a, name_a, FileStat{100, kStartNs}));
  EXPECT_EQ(index.ToFree(200).size(), 2u);
}

TEST(DiskIndex, ForgetsWhatIsErasedAndReplaced) {
  Index index;
  const ObjectHeader segment = Segment(TokensOf(100), 0, {}, 1);
  const ObjectName name = index.Put(segment);
  index.Put(segment, 70);
  EXPECT_EQ(index->bytes(), 70u);
  EXPECT_EQ(index->GoodObjects(ToText(kModel)), 1u);
  index->Erase(ToText(kModel), name);
  index->Erase(ToText(kModel), name);
  EXPECT_EQ(index->bytes(), 0u);
  EXPECT_EQ(index->Find(ToText(kModel), name), nullptr);
  EXPECT_TRUE(index->Models().empty());
  // The snapshot finds no segment there.
  const ObjectName snapshot = index.Put(Snapshot(TokensOf(50)));
  EXPECT_EQ(index.ToFree(1), (Names{snapshot}));
}

}  // namespace
}  // namespace cairn
