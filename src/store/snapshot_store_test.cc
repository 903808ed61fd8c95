#include "store/snapshot_store.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(RamStore, GivesBackTheBytesItTook) {
  const auto store = MakeRamStore();
  ASSERT_TRUE(store->Put(1, {1, 2, 3}));
  const auto bytes = store->Get(1);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(Bytes(bytes->begin(), bytes->end()), (Bytes{1, 2, 3}));
}

TEST(RamStore, CountsExactlyWhatItHolds) {
  const auto store = MakeRamStore();
  ASSERT_TRUE(store->Put(1, Bytes(100)));
  ASSERT_TRUE(store->Put(2, Bytes(50)));
  store->Erase(1);
  store->Erase(1);
  EXPECT_EQ(store->bytes(), 50u);
  EXPECT_EQ(store->Get(1).error().code, ErrorCode::kNotFound);
}

TEST(NoneStore, TakesNothing) {
  const auto store = MakeNoneStore();
  EXPECT_EQ(store->Put(1, {1}).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store->Get(1).has_value());
  EXPECT_EQ(store->bytes(), 0u);
}

}  // namespace
}  // namespace cairn
