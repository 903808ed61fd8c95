#include "routes/answering.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

std::string Filled(StreamPing* ping, std::string chunk) {
  ping->Fill("p", &chunk);
  return chunk;
}

TEST(StreamPing, PingsAfterEachIntervalOfSilence) {
  ManualClock clock;
  StreamPing ping(&clock, 1000);
  EXPECT_EQ(Filled(&ping, ""), "");
  clock.Advance(999);
  EXPECT_EQ(Filled(&ping, ""), "");
  clock.Advance(1);
  EXPECT_EQ(Filled(&ping, ""), "p");
  EXPECT_EQ(Filled(&ping, ""), "");
  clock.Advance(1000);
  EXPECT_EQ(Filled(&ping, ""), "p");
}

TEST(StreamPing, WhatIsSentPutsThePingOff) {
  ManualClock clock;
  StreamPing ping(&clock, 1000);
  clock.Advance(1500);
  EXPECT_EQ(Filled(&ping, "data"), "data");
  clock.Advance(999);
  EXPECT_EQ(Filled(&ping, ""), "");
  clock.Advance(1);
  EXPECT_EQ(Filled(&ping, ""), "p");
}

TEST(StreamPing, IsOffWithoutAnInterval) {
  ManualClock clock;
  StreamPing ping(&clock, -1000);
  clock.Advance(1e9);
  EXPECT_EQ(Filled(&ping, ""), "");
}

}  // namespace
}  // namespace cairn
