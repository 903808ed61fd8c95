#include <gtest/gtest.h>

#include "small_tables.h"

namespace cairn::bench {
namespace {

TEST(EngineBench, BringsStatesBackOnModelsWithAndWithoutSnapshots) {
  const std::string table = Table("restore");
  EXPECT_TRUE(Has(table, "restore  llama, assemble 1")) << table;
  EXPECT_TRUE(Has(table, "restore  llama, assemble 2")) << table;
  EXPECT_TRUE(Has(table, "restore  qwen35, snapshot")) << table;
  EXPECT_TRUE(Has(table, "of memcpy's")) << table;
}

TEST(EngineBench, PublishesWhatAConversationHasGrownBy) {
  const std::string table = Table("events");
  EXPECT_TRUE(Has(table, "events   full, report")) << table;
  EXPECT_TRUE(Has(table, "events   tenth, publish")) << table;
  EXPECT_TRUE(Has(table, "1000 new tokens")) << table;
}

TEST(EngineBench, ReadsFreshPromptsWithCheckpointsAndWithout) {
  const std::string table = Table("prefill");
  EXPECT_TRUE(Has(table, "prefill  qwen35, placement none")) << table;
  EXPECT_TRUE(Has(table, "of none's speed")) << table;
}

}  // namespace
}  // namespace cairn::bench
