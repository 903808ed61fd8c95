#include "fleet/remote/tier/remote_plan.h"

#include <gtest/gtest.h>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kModel;
using test::Segment;
using test::Snapshot;
using test::TokensOf;
using Place = RemotePlanner::Place;

constexpr RemotePace kPace = {100e3, 1, 500};

class RemotePlanTest : public testing::Test {
 protected:
  RemotePlanTest() {
    names_.emplace_back(RemoteKeys::Plain().keys().front(), kModel, 0);
    ask_.tokens = TokensOf(9000, 1);
    ask_.prefill_ms_per_token = 1;
    ask_.needs_snapshots = true;
    ask_.snapshots_need_kv = true;
  }

  // Stores the object, as its uploader lists it.
  RemoteEntry Store(const ObjectHeader& header, const RemoteId& parent = {},
                    uint64_t bytes = 1 << 20) {
    RemoteEntry entry;
    entry.kind = header.kind;
    entry.id = names_.front().IdOf(NameOf(header));
    entry.parent = parent;
    entry.begin = header.begin;
    entry.end = header.tokens.size();
    entry.lineage = header.lineage;
    entry.has_logits = header.logits_bytes > 0;
    entry.stored_bytes = bytes;
    const auto blocks = names_.front().Blocks(header.tokens);
    for (const size_t block : BlocksOf(header)) index_[blocks[block]].push_back(entry);
    return entry;
  }
  RemotePlan Plan(const RemotePace& pace = kPace, Place place = Place::kRemote) {
    return PlanWith([place](const RemoteItem&) { return place; }, pace);
  }
  RemotePlan PlanWith(const RemotePlanner::PlaceOf& place_of, const RemotePace& pace = kPace) {
    RemotePlanner planner(&ask_, kModel, &names_);
    const auto blocks = names_.front().Blocks(ask_.tokens);
    for (size_t i = 0; i < blocks.size(); ++i) {
      planner.Add(0, i, names_.front().IndexKeyOf(blocks[i]), index_[blocks[i]]);
    }
    return planner.Choose(pace, place_of);
  }
  static std::vector<RemoteId> IdsOf(const RemotePlan& plan) {
    std::vector<RemoteId> ids;
    for (const RemoteItem& item : plan.items) ids.push_back(item.entry.id);
    return ids;
  }

  RemoteAsk ask_;
  std::vector<RemoteNames> names_;
  std::map<BlockHash, std::vector<RemoteEntry>> index_;
};

TEST_F(RemotePlanTest, TakesTheDeepestSnapshotWithItsSegments) {
  const RemoteEntry first = Store(Segment(TokensOf(4000, 1), 0, {}));
  const RemoteEntry second = Store(Segment(TokensOf(8000, 1), 4000, {1, 1}), first.id);
  Store(Snapshot(TokensOf(3000, 1)), first.id);
  const RemoteEntry deep = Store(Snapshot(TokensOf(7000, 1)), second.id);
  Store(Snapshot(TokensOf(8500, 2)), second.id);  // of another conversation
  const RemotePlan plan = Plan();
  EXPECT_EQ(IdsOf(plan), (std::vector<RemoteId>{first.id, second.id, deep.id}));
  EXPECT_EQ(plan.reach_tokens, 7000U);
  EXPECT_EQ(plan.bytes, uint64_t{3} << 20);
}

TEST_F(RemotePlanTest, SegmentOfAnotherConversationServesAsFarAsItIsShared) {
  // Its snapshot says that it holds the shared 3,000 tokens.
  const RemoteEntry other = Store(Segment(TokensOf(8000, 2, 3000), 0, {}));
  ask_.tokens = TokensOf(9000, 1, 3000);
  const RemoteEntry header = Store(Snapshot(TokensOf(3000, 0, 3000)), other.id);
  const RemotePlan plan = Plan();
  EXPECT_EQ(IdsOf(plan), (std::vector<RemoteId>{other.id, header.id}));
  EXPECT_EQ(plan.items.front().agrees_tokens, 3000U);
}

TEST_F(RemotePlanTest, WithoutSnapshotsSegmentsServeUpToTheirLastSharedBlock) {
  ask_.needs_snapshots = ask_.snapshots_need_kv = false;
  ask_.tokens = TokensOf(9000, 1, 3000);
  const RemoteEntry other = Store(Segment(TokensOf(8000, 2, 3000), 0, {}));
  const RemotePlan plan = Plan();
  EXPECT_EQ(IdsOf(plan), std::vector<RemoteId>{other.id});
  EXPECT_EQ(plan.reach_tokens, 5 * kRemoteBlockTokens);
}

TEST_F(RemotePlanTest, RecurrentModelsNeedTheSnapshotAlone) {
  ask_.snapshots_need_kv = false;
  const RemoteEntry deep = Store(Snapshot(TokensOf(7000, 1)));
  EXPECT_EQ(IdsOf(Plan()), std::vector<RemoteId>{deep.id});
}

TEST_F(RemotePlanTest, SnapshotAtThePromptsEndServesOnlyWithItsLogits) {
  ask_.snapshots_need_kv = false;
  const RemoteEntry before = Store(Snapshot(TokensOf(8000, 1)));
  ObjectHeader end = Snapshot(TokensOf(9000, 1));
  Store(end);
  EXPECT_EQ(IdsOf(Plan()), std::vector<RemoteId>{before.id});
  end.logits_bytes = 16;
  const RemoteEntry with_logits = Store(end);
  EXPECT_EQ(IdsOf(Plan()), std::vector<RemoteId>{with_logits.id});
}

TEST_F(RemotePlanTest, MissingSegmentMakesTheSnapshotBehindItUseless) {
  const RemoteEntry second = Store(Segment(TokensOf(8000, 1), 4000, {1, 1}), {7, 7});
  Store(Snapshot(TokensOf(7000, 1)), second.id);
  EXPECT_TRUE(Plan().items.empty());
}

TEST_F(RemotePlanTest, CirclesOfParentsEnd) {
  RemoteEntry circle;
  circle.kind = ObjectKind::kSegment;
  circle.id = {5, 5};
  circle.parent = {5, 5};
  circle.begin = 100;
  circle.end = 8000;
  circle.stored_bytes = 1;
  const auto blocks = names_.front().Blocks(ask_.tokens);
  for (const BlockHash& block : blocks) index_[block].push_back(circle);
  Store(Snapshot(TokensOf(7000, 1)), circle.id);
  EXPECT_TRUE(Plan().items.empty());
}

// Each target leads over the same thousand segments to one that is of no use.
TEST_F(RemotePlanTest, AsksForEachObjectOnceHoweverManyTargetsLeadOverIt) {
  ask_.needs_snapshots = ask_.snapshots_need_kv = false;
  const auto blocks = names_.front().Blocks(ask_.tokens);
  for (uint64_t i = 0; i < 1000; ++i) {
    RemoteEntry link;
    link.kind = ObjectKind::kSegment;
    link.id = {1, i + 1};
    if (i > 0) link.parent = {1, i};
    link.begin = i;
    link.end = 9000;
    link.stored_bytes = 1;
    index_[blocks[i % blocks.size()]].push_back(link);
  }
  uint64_t asked = 0;
  EXPECT_TRUE(PlanWith([&](const RemoteItem& item) {
                ++asked;
                return item.entry.id == RemoteId{1, 1} ? Place::kUseless : Place::kRemote;
              }).items.empty());
  EXPECT_LE(asked, 1000U);
  // Nor does a missing segment cost more.
  index_[blocks[0]].erase(index_[blocks[0]].begin());
  asked = 0;
  EXPECT_TRUE(PlanWith([&](const RemoteItem&) {
                ++asked;
                return Place::kRemote;
              }).items.empty());
  EXPECT_LE(asked, 1000U);
}

TEST_F(RemotePlanTest, ObjectsThatTheModelCannotHaveAreLeftOut) {
  ask_.snapshots_need_kv = false;
  ask_.kv_bytes_per_token = 1000;
  ask_.snapshot_bytes = 1 << 20;
  const RemoteEntry good = Store(Snapshot(TokensOf(3000, 1)), {}, 1 << 20);
  const RemoteEntry huge = Store(Snapshot(TokensOf(7000, 1)), {}, uint64_t{40} << 20);
  EXPECT_EQ(IdsOf(Plan()), std::vector<RemoteId>{good.id});
  EXPECT_LT(ObjectBytesMax(ask_, huge), huge.stored_bytes);
  RemoteEntry segment = huge;
  segment.kind = ObjectKind::kSegment;
  segment.begin = 0;
  segment.end = 100'000;
  EXPECT_GT(ObjectBytesMax(ask_, segment), uint64_t{100} << 20);
  segment.end = UINT64_MAX;
  EXPECT_EQ(ObjectBytesMax(ask_, segment), uint64_t{8} << 30);
  ask_.kv_bytes_per_token = ask_.snapshot_bytes = 0;
  EXPECT_EQ(IdsOf(Plan()), std::vector<RemoteId>{huge.id}) << "nothing is known of the model";
}

TEST_F(RemotePlanTest, FetchesOnlyWhatPays) {
  ask_.snapshots_need_kv = false;
  const RemoteEntry small = Store(Snapshot(TokensOf(3000, 1)), {}, 10 << 20);
  Store(Snapshot(TokensOf(7000, 1)), {}, uint64_t{1} << 30);
  // A gigabyte takes ten seconds, and spares seven.
  EXPECT_EQ(IdsOf(Plan()), std::vector<RemoteId>{small.id});
  EXPECT_TRUE(Plan({1e3, 1, 500}).items.empty());
  EXPECT_TRUE(Plan({100e3, 1, 5000}).items.empty());
  ask_.reach_tokens = 2900;
  EXPECT_TRUE(Plan().items.empty());
}

TEST_F(RemotePlanTest, WaitsSomeTimesTheExpectedTimeAndNeverLongerThanPrefill) {
  RemotePlan plan;
  plan.reach_tokens = 8000;
  plan.bytes = 100'000'000;
  EXPECT_NEAR(FetchWaitMs(ask_, {100e3, 1, 500}, plan), 4000, 10);
  EXPECT_EQ(FetchWaitMs(ask_, {10e3, 1, 500}, plan), 8000);
  plan.bytes = 1000;
  EXPECT_EQ(FetchWaitMs(ask_, {100e3, 1, 500}, plan), 200);
}

TEST_F(RemotePlanTest, LocalAndUselessObjectsAreLeftOut) {
  ask_.snapshots_need_kv = false;
  Store(Snapshot(TokensOf(7000, 1)));
  EXPECT_TRUE(Plan(kPace, Place::kLocal).items.empty());
  EXPECT_TRUE(Plan(kPace, Place::kUseless).items.empty());
}

}  // namespace
}  // namespace cairn
