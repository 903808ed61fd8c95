#include "base/join.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <ranges>
#include <vector>

namespace cairn {
namespace {

TEST(JoinNames, PutsACommaBetweenTwoNames) {
  EXPECT_EQ(JoinNames(std::vector<std::string>{"lru", "none", "value"}), "lru, none, value");
  EXPECT_EQ(JoinNames(std::array<std::string_view, 1>{"lru"}), "lru");
  EXPECT_EQ(JoinNames(std::vector<std::string>{}), "");
}

TEST(JoinNames, TakesTheKeysOfATable) {
  const std::map<std::string, int> table = {{"f16", 1}, {"f32", 0}};
  EXPECT_EQ(JoinNames(std::views::keys(table)), "f16, f32");
}

}  // namespace
}  // namespace cairn
