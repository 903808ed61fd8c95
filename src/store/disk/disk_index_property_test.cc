// Compares DiskIndex's eviction order for random forests of segments and snapshots with a plain
// oracle that compares tokens. A failure names its seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "store/disk/disk_index.h"
#include "testing/base/played_share.h"
#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kModel;
using test::kSecondNs;
using test::kStartNs;
using test::Segment;
using test::Snapshot;
using test::TokensOf;

constexpr double kHalfLifeS = 3600;

struct Known {
  ObjectName name;
  ObjectHeader header;
  FileStat stat;
};

class Forest {
 public:
  explicit Forest(uint64_t seed) : random_(seed) {
    const uint64_t count = 1 + Below(40);
    for (uint64_t i = 0; i < count; ++i) Add();
  }

  const std::map<ObjectName, Known>& objects() const { return objects_; }
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  // Whether `a` is useless without `b`, or is taken to be: sequences that diverge within the block
  // of a snapshot's last token are taken for one.
  bool Needs(const Known& a, const Known& b) const {
    if (b.header.kind != ObjectKind::kSegment) return false;
    if (a.header.kind == ObjectKind::kSegment) return a.header.parent == b.name;
    const size_t position = a.header.tokens.size();
    const size_t shared = CommonPrefix(a.header.tokens, b.header.tokens);
    constexpr size_t kBlock = DiskIndex::kBlockTokens;
    return a.header.kind == ObjectKind::kSnapshot && b.header.begin < position &&
           position <= b.header.tokens.size() && shared >= (position - 1) / kBlock * kBlock &&
           a.header.lineage == b.header.lineage;
  }
  // Its own rank, or the highest of those that need it.
  double RankOf(const Known& known) {
    if (ranks_.contains(known.name)) return ranks_.at(known.name);
    double rank = ObjectRank(known.header.worth_ms, known.stat.bytes, known.stat.time_ns, kStartNs,
                             kHalfLifeS);
    for (const auto& [name, other] : objects_) {
      if (Needs(other, known)) rank = std::max(rank, RankOf(other));
    }
    return ranks_[known.name] = rank;
  }

 private:
  void Add() {
    const auto line = static_cast<Token>(Below(4));
    std::vector<ObjectHeader> segments;
    for (const auto& [name, known] : objects_) {
      const bool same_line = known.header.tokens == TokensOf(known.header.tokens.size(), line, 300);
      if (known.header.kind == ObjectKind::kSegment && same_line) segments.push_back(known.header);
    }
    ObjectHeader header;
    if (Below(2) == 0) {
      ObjectName parent;
      size_t begin = 0;
      if (!segments.empty()) {
        const ObjectHeader& chosen = segments[Below(segments.size())];
        parent = NameOf(chosen);
        begin = chosen.begin + 1 + Below(chosen.tokens.size() - chosen.begin);
      }
      header = Segment(TokensOf(begin + 1 + Below(1500), line, 300), begin, parent);
    } else {
      header = Snapshot(TokensOf(1 + Below(3000), line, 300));
      if (Below(5) == 0) header.kind = ObjectKind::kFullState;
      if (Below(5) == 0) header.lineage = 9;
    }
    header.worth_ms = static_cast<double>(Below(1'000'000));
    const FileStat stat{1 + Below(10'000),
                        kStartNs - static_cast<int64_t>(Below(100'000)) * kSecondNs};
    const ObjectName name = NameOf(header);
    objects_[name] = {name, header, stat};
  }

  std::mt19937_64 random_;
  std::map<ObjectName, Known> objects_;
  std::map<ObjectName, double> ranks_;
};

void CompareWithOracle(uint64_t seed) {
  Forest forest(seed);
  DiskIndex index;
  uint64_t all = 0;
  // Put twice, with an erase between: nothing of the first time may remain.
  for (int round = 0; round < 2; ++round) {
    for (const auto& [name, known] : forest.objects()) {
      if (round == 1 && forest.Below(3) == 0) index.Erase(ToText(kModel), name);
      index.Put(DiskIndex::EntryOf(known.header, name, known.stat));
      if (round == 0) all += known.stat.bytes;
    }
  }
  ASSERT_EQ(index.bytes(), all);
  const uint64_t needed = 1 + forest.Below(all);
  const auto evicted = index.ToFree(needed, nullptr, kStartNs, kHalfLifeS);
  ASSERT_TRUE(evicted.has_value());
  uint64_t freed = 0;
  double highest = -1e300;
  std::set<ObjectName> gone;
  for (const DiskEntry& entry : *evicted) {
    ASSERT_LT(freed, needed);
    freed += entry.bytes;
    const Known& known = forest.objects().at(entry.name);
    const double rank = forest.RankOf(known);
    EXPECT_GE(rank, highest);
    highest = std::max(highest, rank);
    for (const auto& [name, other] : forest.objects()) {
      if (forest.Needs(other, known)) {
        EXPECT_TRUE(gone.contains(name));
      }
    }
    gone.insert(entry.name);
  }
  EXPECT_GE(freed, needed);
  for (const auto& [name, known] : forest.objects()) {
    if (!gone.contains(name)) {
      EXPECT_GE(forest.RankOf(known), highest);
    }
  }
}

TEST(DiskIndexProperty, EvictsTheLeastThatNothingHigherNeeds) {
  for (uint64_t seed = 1; seed <= test::Played(3000) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CompareWithOracle(seed);
  }
}

}  // namespace
}  // namespace cairn
