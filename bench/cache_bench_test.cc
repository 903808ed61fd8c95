#include <gtest/gtest.h>

#include "small_tables.h"

namespace cairn::bench {
namespace {

TEST(CacheBench, FindsWhatOfAPromptIsStored) {
  const std::string table = Table("match");
  EXPECT_TRUE(Has(table, "match    all of the prompt is stored")) << table;
  EXPECT_TRUE(Has(table, "900 shared, 17 checkpoints")) << table;
  EXPECT_TRUE(Has(table, "450 shared")) << table;
  EXPECT_TRUE(Has(table, " 0 shared, 0 checkpoints")) << table;
}

TEST(CacheBench, InsertsWithoutGivingUpAnythingWhereThereIsRoom) {
  const std::string table = Table("insert");
  EXPECT_TRUE(Has(table, "60 checkpoints, 0 evicted")) << table;
}

TEST(CacheBench, EvictsOneForEachInsertUnderEveryPolicy) {
  const std::string table = Table("evict");
  EXPECT_TRUE(Has(table, "evict    value, 12 at once")) << table;
  for (const char* policy : {"value", "lru", "fifo", "closest-pair", "marconi"}) {
    EXPECT_TRUE(Has(table, std::string("evict    ") + policy + ", one")) << table;
  }
  EXPECT_TRUE(Has(table, "60 checkpoints, 16 evicted")) << table;
}

TEST(CacheBench, RefusesANameItDoesNotKnow) {
  EXPECT_EQ(Table("sort"),
            "there is no benchmark named 'sort'; there are: match, insert, evict, events, "
            "restore, prefill");
}

TEST(CacheBench, TakesTheMiddleOfItsRuns) {
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 9}), 3);
}

}  // namespace
}  // namespace cairn::bench
