#include "sched/stop_text.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(StopText, SendsTextAtOnceWhenNothingCanFollow) {
  StopText text({"STOP"});
  EXPECT_EQ(text.Push("hello "), "hello ");
  EXPECT_EQ(text.Push("world"), "world");
  EXPECT_EQ(text.Finish(), "");
}

TEST(StopText, FindsAStopTextAcrossTokens) {
  StopText text({"STOP"});
  EXPECT_EQ(text.Push("go S"), "go ");
  EXPECT_EQ(text.Push("TO"), "");
  EXPECT_EQ(text.Push("P and on"), "");
  EXPECT_EQ(text.stopped_by(), "STOP");
  EXPECT_EQ(text.Push("more"), "");
  EXPECT_EQ(text.Finish(), "");
}

TEST(StopText, LetsGoOfWhatOnlyLookedLikeAStopText) {
  StopText text({"STOP"});
  EXPECT_EQ(text.Push("STO"), "");
  EXPECT_EQ(text.Push("NE"), "STONE");
  EXPECT_EQ(text.stopped_by(), "");
}

TEST(StopText, TakesTheStopTextThatComesFirst) {
  StopText text({"late", "early"});
  EXPECT_EQ(text.Push("an early and a late one"), "an ");
  EXPECT_EQ(text.stopped_by(), "early");
}

TEST(StopText, HoldsBackHalfACharacterAndRepairsItAtTheEnd) {
  StopText text({});
  EXPECT_EQ(text.Push("a\xE2\x82"), "a");
  EXPECT_EQ(text.Push("\xAC"), "\xE2\x82\xAC");
  EXPECT_EQ(text.Push("\xE2\x82"), "");
  EXPECT_EQ(text.Finish(), "\xEF\xBF\xBD");
}

TEST(StopText, KeepsTheEndOfAnUnfinishedStopText) {
  StopText text({"END"});
  EXPECT_EQ(text.Push("the EN"), "the ");
  EXPECT_EQ(text.Finish(), "EN");
}

}  // namespace
}  // namespace cairn
