#include "fleet/remote/tier/remote_uploader.h"

#include <gtest/gtest.h>

#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::Segment;
using test::Snapshot;
using test::TokensOf;

constexpr double kAfterMs = 30'000;
constexpr double kFast = 1e6;

class UploadQueueTest : public testing::Test {
 protected:
  ObjectName Write(const ObjectHeader& header, double now_ms) {
    UploadRecord record;
    record.kind = header.kind;
    record.checkpoint_class = header.checkpoint_class;
    record.name_space = header.name_space;
    record.begin = header.begin;
    record.end = header.tokens.size();
    record.lineage = header.lineage;
    record.worth_ms = header.worth_ms;
    record.bytes = 1000;
    const RemoteNames names(RemoteKeys::Plain().keys().front(), test::kModel, header.name_space);
    record.blocks = names.Blocks(header.tokens);
    record.written_ms = now_ms;
    const ObjectName name = NameOf(header);
    queue_.OnWritten(name, std::move(record));
    return name;
  }

  std::optional<ObjectName> TakeNext(double now_ms, double bytes_per_ms, bool all) {
    const auto upload = queue_.TakeNext(now_ms, bytes_per_ms, all);
    if (!upload) return std::nullopt;
    return upload->name;
  }

  UploadQueue queue_{kAfterMs};
};

TEST_F(UploadQueueTest, SnapshotWaitsUntilItsConversationIsIdle) {
  const ObjectName name = Write(Snapshot(TokensOf(2000)), 1000);
  EXPECT_FALSE(TakeNext(1000 + kAfterMs - 1, kFast, false));
  EXPECT_EQ(queue_.NextDueMs(), 1000 + kAfterMs);
  EXPECT_EQ(TakeNext(1000 + kAfterMs, kFast, false), name);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(UploadQueueTest, LaterSnapshotOfConversationTakesThePlaceOfEarlierOne) {
  Write(Snapshot(TokensOf(2000)), 0);
  const ObjectName later = Write(Snapshot(TokensOf(3000)), 20'000);
  EXPECT_FALSE(TakeNext(kAfterMs, kFast, false));
  EXPECT_EQ(TakeNext(20'000 + kAfterMs, kFast, false), later);
  EXPECT_FALSE(TakeNext(1e9, kFast, true));
}

TEST_F(UploadQueueTest, SnapshotOfAnotherClassStays) {
  ObjectHeader header = Snapshot(TokensOf(2000));
  header.checkpoint_class = 1;
  const ObjectName first = Write(header, 0);
  Write(Snapshot(TokensOf(3000)), 20'000);
  EXPECT_EQ(TakeNext(kAfterMs, kFast, false), first);
}

TEST_F(UploadQueueTest, HeaderOfTwoConversationsIsDueAtOnce) {
  const ObjectName header = Write(Snapshot(TokensOf(2000, 0, 2000)), 0);
  Write(Snapshot(TokensOf(4000, 1, 2000)), 1);
  EXPECT_FALSE(TakeNext(2, kFast, false));
  Write(Snapshot(TokensOf(4000, 2, 2000)), 2);
  EXPECT_EQ(TakeNext(2, kFast, false), header);
  EXPECT_FALSE(TakeNext(2, kFast, false));
}

TEST_F(UploadQueueTest, HeaderIsDueWhenItIsWrittenLast) {
  Write(Snapshot(TokensOf(4000, 1, 2000)), 1);
  Write(Snapshot(TokensOf(4000, 2, 2000)), 2);
  const ObjectName header = Write(Snapshot(TokensOf(2000, 0, 2000)), 3);
  EXPECT_EQ(TakeNext(3, kFast, false), header);
}

TEST_F(UploadQueueTest, NamespacesHaveNothingInCommon) {
  Write(Snapshot(TokensOf(2000, 0, 2000)), 0);
  for (const Token line : {1, 2}) {
    ObjectHeader other = Snapshot(TokensOf(4000, line, 2000));
    other.name_space = 9;
    Write(other, 1);
  }
  EXPECT_FALSE(TakeNext(2, kFast, false));
}

TEST_F(UploadQueueTest, SnapshotThatIsUsedTwiceIsDueAtOnce) {
  const ObjectName name = Write(Snapshot(TokensOf(2000)), 0);
  queue_.OnUsed(name);
  EXPECT_FALSE(TakeNext(1, kFast, false));
  queue_.OnUsed(name);
  EXPECT_EQ(TakeNext(1, kFast, false), name);
}

TEST_F(UploadQueueTest, DrainTakesTheMostWorthPerByteFirst) {
  const ObjectName poor = Write(Snapshot(TokensOf(2000, 1), 1000), 0);
  const ObjectName rich = Write(Snapshot(TokensOf(2000, 2), 3000), 0);
  const ObjectName middle = Write(Segment(TokensOf(2000, 3), 0, {}, 2000), 0);
  EXPECT_EQ(TakeNext(1, kFast, true), rich);
  EXPECT_EQ(TakeNext(1, kFast, true), middle);
  EXPECT_EQ(TakeNext(1, kFast, true), poor);
}

TEST_F(UploadQueueTest, DropsObjectsThatAreWorthLessThanTheirUpload) {
  Write(Snapshot(TokensOf(2000), 10), 0);
  // 1,000 bytes take 100 ms.
  EXPECT_FALSE(TakeNext(1e9, 10, true));
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(UploadQueueTest, KeepsFewAndTheBest) {
  for (Token line = 0; line < static_cast<Token>(UploadQueue::kObjectsMax) + 1; ++line) {
    UploadRecord record;
    record.worth_ms = line;
    record.bytes = 1;
    queue_.OnWritten({1, static_cast<uint64_t>(line) + 1}, std::move(record));
  }
  EXPECT_LE(queue_.size(), UploadQueue::kObjectsMax);
  EXPECT_EQ(TakeNext(1e9, kFast, true), (ObjectName{1, UploadQueue::kObjectsMax + 1}));
}

}  // namespace
}  // namespace cairn
