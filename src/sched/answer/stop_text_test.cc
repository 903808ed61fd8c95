#include "sched/answer/stop_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/utf8.h"

namespace cairn {
namespace {

// The text that may be sent after `received`, computed without a record of what was sent.
std::string SafeText(std::string_view received, std::string_view stop) {
  size_t safe = received.find(stop);
  if (safe != std::string_view::npos) return ToValidUtf8(received.substr(0, safe));
  size_t held = std::min(received.size(), stop.size() - 1);
  while (!received.ends_with(stop.substr(0, held))) --held;
  safe = received.size() - held;
  return ToValidUtf8(received.substr(0, CompleteUtf8Prefix(received.substr(0, safe))));
}

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

TEST(StopText, LetsGoOfBrokenBytesBeforeAnUnfinishedCharacter) {
  StopText text({});
  EXPECT_EQ(text.Push("\xE2\x82\xE2"), "\xEF\xBF\xBD");
  EXPECT_EQ(text.Push("\x82\xAC"), "\xE2\x82\xAC");
}

TEST(StopText, SendsAtOnceAllThatIsSafeHoweverTheBytesAreCut) {
  constexpr std::array<std::string_view, 8> kBits = {"a",    "b",    "\xE2",         "\x82",
                                                     "\xAC", "\xF0", "\xE2\x82\xAC", "\xC3"};
  std::mt19937_64 random(5);
  const auto bits = [&](size_t count) {
    std::string bytes;
    while (count-- > 0) bytes += kBits[random() % kBits.size()];
    return bytes;
  };
  for (int answer = 0; answer < 20000; ++answer) {
    SCOPED_TRACE(testing::Message() << "answer " << answer);
    const std::string stop = bits(1 + random() % 4);
    StopText text({stop});
    std::string received;
    std::string sent;
    for (int token = 0; token < 6 && text.stopped_by().empty(); ++token) {
      const std::string bytes = bits(random() % 3);
      received += bytes;
      sent += text.Push(bytes);
      ASSERT_EQ(sent, SafeText(received, stop));
    }
    sent += text.Finish();
    ASSERT_EQ(sent, ToValidUtf8(std::string_view(received).substr(0, received.find(stop))));
  }
}

TEST(StopText, KeepsTheEndOfAnUnfinishedStopText) {
  StopText text({"END"});
  EXPECT_EQ(text.Push("the EN"), "the ");
  EXPECT_EQ(text.Finish(), "EN");
}

}  // namespace
}  // namespace cairn
