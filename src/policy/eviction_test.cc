#include "policy/eviction.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

std::vector<EvictionCandidate> Candidates() {
  std::vector<EvictionCandidate> candidates(3);
  candidates[0].used_tick = 9;
  candidates[1].used_tick = 4;
  candidates[2].used_tick = 7;
  return candidates;
}

TEST(Eviction, LruGivesUpWhatWasNotUsedLongest) {
  EXPECT_EQ((*MakeEviction("lru"))->Victim(Candidates()), 1u);
}

TEST(Eviction, NoneGivesNothingUp) {
  EXPECT_EQ((*MakeEviction("none"))->Victim(Candidates()), std::nullopt);
}

TEST(Eviction, AnUnknownNameIsToldTheKnownOnes) {
  EXPECT_NE(MakeEviction("mru").error().message.find("lru, none"), std::string::npos);
}

}  // namespace
}  // namespace cairn
