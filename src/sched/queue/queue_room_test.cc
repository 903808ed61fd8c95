#include "sched/queue/request_queue.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

using Indices = std::vector<size_t>;

TEST(QueueRoom, NobodyLeavesWhileThereIsRoom) {
  const std::vector<QueuePlace> queue(5, {1});
  EXPECT_EQ(WhoLeaves(queue, 2, 1, 6), Indices{});
  EXPECT_EQ(WhoLeaves(queue, 1, 1, 6), Indices{});
}

TEST(QueueRoom, TheNewestOfTheNamespaceThatWaitsWithMostLeaves) {
  const std::vector<QueuePlace> queue = {{1}, {1}, {1}, {2}, {1}, {3}};
  EXPECT_EQ(WhoLeaves(queue, 2, 1, 6), Indices{4});
  EXPECT_EQ(WhoLeaves(queue, 9, 2, 6), (Indices{4, 2}));
}

TEST(QueueRoom, TheNamespaceThatWaitsWithMostIsRefusedItself) {
  const std::vector<QueuePlace> queue = {{1}, {1}, {1}, {2}};
  EXPECT_FALSE(WhoLeaves(queue, 1, 1, 4));
  EXPECT_FALSE(WhoLeaves(queue, 2, 2, 4));  // it would wait with as many
  EXPECT_FALSE(WhoLeaves(queue, 3, 5, 4));  // more than fit at all
}

TEST(QueueRoom, WhoWasAtWorkBeforeStays) {
  const std::vector<QueuePlace> queue = {{1, false}, {1}, {1, false}};
  EXPECT_EQ(WhoLeaves(queue, 2, 1, 3), Indices{1});
  const std::vector<QueuePlace> at_work(3, {1, false});
  EXPECT_FALSE(WhoLeaves(at_work, 2, 1, 3));
}

}  // namespace
}  // namespace cairn
