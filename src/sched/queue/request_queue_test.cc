#include "sched/queue/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace cairn::request_queue_test {
namespace {

constexpr NamespaceId kMany = 1;
constexpr NamespaceId kFew = 2;

std::vector<QueuedRequest> OneOf(NamespaceId name_space) {
  std::vector<QueuedRequest> requests(1);
  requests.front().generation = std::make_shared<Generation>();
  requests.front().request.name_space = name_space;
  return requests;
}

// Under the thread sanitizer this is also a test of the flag that says who leaves.
TEST(RequestQueue, ShowsTheContextThreadWhoLeavesWhileOthersPush) {
  constexpr size_t kLimit = 8;
  constexpr size_t kNewcomers = 3;
  RequestQueue queue(kLimit);
  for (size_t i = 0; i < kLimit; ++i) ASSERT_TRUE(queue.Push(OneOf(kMany)));
  const std::vector<QueuedRequest*> ready = queue.Ready();
  ASSERT_EQ(ready.size(), kLimit);
  std::thread newcomers([&queue] {
    for (size_t i = 0; i < kNewcomers; ++i) EXPECT_TRUE(queue.Push(OneOf(kFew)));
  });
  const auto leaving = [&ready] {
    return std::count_if(ready.begin(), ready.end(),
                         [](const QueuedRequest* queued) { return queued->leaves_queue(); });
  };
  while (leaving() < static_cast<ptrdiff_t>(kNewcomers)) std::this_thread::yield();
  newcomers.join();
  EXPECT_EQ(leaving(), static_cast<ptrdiff_t>(kNewcomers));
  const auto left = queue.TakeIf([](const QueuedRequest& queued) { return queued.leaves_queue(); });
  EXPECT_EQ(left.size(), kNewcomers);
  EXPECT_TRUE(left.front().refused.is_set()) << "a request that is moved keeps the flag";
  EXPECT_EQ(queue.size(), kLimit);
  EXPECT_EQ(queue.refused(), kNewcomers);
}

}  // namespace
}  // namespace cairn::request_queue_test
