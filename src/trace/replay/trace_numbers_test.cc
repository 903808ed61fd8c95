#include <gtest/gtest.h>

#include <vector>

#include "trace/replay/trace.h"

namespace cairn {
namespace {

using Ranges = std::vector<BlockRange>;

bool OfBlocks(const std::vector<Ranges>& prompts) {
  std::vector<TraceRequest> requests(prompts.size());
  std::vector<TraceStep> steps;
  for (size_t i = 0; i < prompts.size(); ++i) {
    requests[i].blocks = prompts[i];
    steps.push_back({0, i, &requests[i]});
  }
  return NumbersNamePrefixes(steps, 64);
}

TEST(NumbersNamePrefixes, WhereEachFollowsTheSameOne) {
  EXPECT_TRUE(OfBlocks({{{0, 9}}, {{0, 4}, {20, 29}}, {{0, 4}, {20, 22}, {40, 41}}}));
  EXPECT_TRUE(OfBlocks({{{0, 4}}, {{0, 9}}, {{0, 4}, {5, 9}}}));
}

TEST(NumbersNamePrefixes, NotWhereANumberComesAfterTwoOthers) {
  EXPECT_FALSE(OfBlocks({{{0, 4}, {7, 8}}, {{0, 3}, {7, 8}}}));
}

TEST(NumbersNamePrefixes, NotWhereANumberBeginsAPromptAndIsInsideAnother) {
  EXPECT_FALSE(OfBlocks({{{0, 9}}, {{5, 9}}}));
  EXPECT_FALSE(OfBlocks({{{5, 9}}, {{0, 9}}}));
}

TEST(NumbersNamePrefixes, NotWhereANumberFollowsAnotherAndIsInsideALongRange) {
  EXPECT_FALSE(OfBlocks({{{0, 99}}, {{0, 10}, {200, 201}}, {{0, 20}, {90, 95}}}));
}

TEST(NumbersNamePrefixes, NotWhereBlocksAndTokensAreMixed) {
  TraceRequest blocks;
  blocks.blocks = {{0, 1}};
  TraceRequest tokens;
  tokens.token_ids = {{0, 1}};
  EXPECT_FALSE(NumbersNamePrefixes({{0, 0, &blocks}, {0, 1, &tokens}}, 64));
  EXPECT_TRUE(NumbersNamePrefixes({{0, 0, &tokens}}, 64));
}

}  // namespace
}  // namespace cairn
