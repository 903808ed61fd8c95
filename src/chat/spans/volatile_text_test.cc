#include "chat/spans/volatile_text.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "chat/spans/volatile_matcher.h"

namespace cairn::volatile_text_test {
namespace {

Message User(const std::string& content) {
  return {.role = Role::kUser, .content = content};
}

Conversation Talk(std::vector<Message> messages) {
  Conversation talk;
  talk.messages = std::move(messages);
  return talk;
}

// Returns the text of the last message after Pin.
std::string Pinned(VolatileText* text, std::vector<Message> messages, uint64_t name_space = 0) {
  Conversation talk = Talk(std::move(messages));
  text->Pin(name_space, &talk);
  return talk.messages.back().content;
}

std::unique_ptr<VolatileText> Days(size_t bytes_max = 1 << 20) {
  auto made = VolatileText::Make({"day [0-9]+"}, bytes_max);
  EXPECT_TRUE(made.has_value());
  return *std::move(made);
}

TEST(VolatileText, KeepsTheValueThatAConversationSawFirst) {
  const auto text = Days();
  EXPECT_EQ(Pinned(text.get(), {User("It is day 1. Hi.")}), "It is day 1. Hi.");
  EXPECT_EQ(Pinned(text.get(), {User("It is day 22. Hi.")}), "It is day 1. Hi.");
  // The following message has its own first values.
  const Message answer = {.role = Role::kAssistant, .content = "On day 3."};
  EXPECT_EQ(Pinned(text.get(), {User("It is day 4. Hi."), answer, User("day 5, day 6")}),
            "day 5, day 6");
  EXPECT_EQ(Pinned(text.get(), {User("It is day 4. Hi."), answer, User("day 7, day 8 or day 9")}),
            "day 5, day 6 or day 9");
  EXPECT_EQ(text->conversations(), 1u);
}

TEST(VolatileText, NeverChangesAMarker) {
  const auto text = *VolatileText::Make({"[0-9a-f]{4,}", "day .*", "_+"});
  const auto first = MakeMedium(MediumKind::kImage, {1}, "");
  const auto second = MakeMedium(MediumKind::kImage, {2}, "");
  const auto pinned = [&](const std::string& before, const std::vector<MediumPtr>& media,
                          const std::string& behind) {
    Conversation talk = Talk({User(before)});
    Message& message = talk.messages[0];
    for (const MediumPtr& medium : media) AppendMarker(medium, &message.content, &message.media);
    message.content += behind;
    text->Pin(0, &talk);
    size_t shown = 0;
    for (const MarkedMedium& marked : message.media) {
      shown += message.content.compare(marked.begin, marked.end - marked.begin,
                                       MarkerOf(*marked.medium)) == 0;
    }
    EXPECT_EQ(shown, media.size()) << message.content;
    return message.content;
  };
  const std::string one = MarkerOf(*first);
  const std::string two = MarkerOf(*second);
  EXPECT_EQ(pinned("day 1", {first}, "day 2"), "day 1" + one + "day 2");
  // The text of the first turn comes back around the same medium, which moves with it.
  EXPECT_EQ(pinned("day 33", {first}, "day 44"), "day 1" + one + "day 2");
  // Without the medium in it, the first value of the pattern would be the other marker's.
  EXPECT_EQ(pinned("", {first}, "x"), one + "x");
  EXPECT_EQ(pinned("", {second}, "x"), two + "x");
  EXPECT_EQ(pinned("day 5", {second, first}, ""), "day 5" + two + one);
  EXPECT_EQ(pinned("", {first, second}, ""), one + two);
}

TEST(VolatileText, CountsWhatItChanged) {
  const auto text = Days();
  Conversation first = Talk({User("day 1 day 2")});
  EXPECT_EQ(text->Pin(0, &first), 0u);
  Conversation second = Talk({User("day 1 day 3")});
  EXPECT_EQ(text->Pin(0, &second), 1u);
  EXPECT_EQ(second.messages[0].content, "day 1 day 2");
}

TEST(VolatileText, TellsConversationsAndClientsApart) {
  const auto text = Days();
  EXPECT_EQ(Pinned(text.get(), {User("day 1, a")}), "day 1, a");
  EXPECT_EQ(Pinned(text.get(), {User("day 2, b")}), "day 2, b");
  EXPECT_EQ(Pinned(text.get(), {User("day 3, a")}, 7), "day 3, a");
  const Message system = {.role = Role::kSystem, .content = "Be brief."};
  EXPECT_EQ(Pinned(text.get(), {system, User("day 4, a")}), "day 4, a");
  EXPECT_EQ(Pinned(text.get(), {User("day 5, a")}), "day 1, a");
  EXPECT_EQ(text->conversations(), 4u);
}

// Where the first eight bytes of a text are the secret of XXH3 plus the seed, a product in its 64
// bits is zero whatever the next eight are.
TEST(VolatileText, ATextWhose64BitsAreTheSameIsAnotherConversation) {
  const auto text = Days();
  const std::string secret = "\xba\xfe\x6c\x39\x23\xa4\x4b\xbe";
  const std::string one = secret + "question" + "of a long walk..";
  const std::string other = secret + "remember" + "of a long walk..";
  constexpr auto kSeed = static_cast<uint64_t>(Role::kUser);
  ASSERT_EQ(Hash64(one, kSeed), Hash64(other, kSeed));
  const Message answer = {.role = Role::kAssistant, .content = "Yes."};
  EXPECT_EQ(Pinned(text.get(), {User(one), answer, User("day 1")}), "day 1");
  EXPECT_EQ(Pinned(text.get(), {User(other), answer, User("day 2")}), "day 2");
}

TEST(VolatileText, LeavesAnswersAlone) {
  const auto text = Days();
  const auto answer = [](const std::string& content) {
    return Message{.role = Role::kAssistant, .content = content};
  };
  EXPECT_EQ(Pinned(text.get(), {User("Hi."), answer("day 1")}), "day 1");
  EXPECT_EQ(Pinned(text.get(), {User("Hi."), answer("day 2")}), "day 2");
}

TEST(VolatileText, ForgetsTheConversationUnusedForLongest) {
  const auto text = Days(250);
  Pinned(text.get(), {User("day 1, a")});
  Pinned(text.get(), {User("day 2, b")});
  EXPECT_EQ(Pinned(text.get(), {User("day 3, a")}), "day 1, a");
  Pinned(text.get(), {User("day 4, c")});
  EXPECT_EQ(text->conversations(), 2u);
  EXPECT_EQ(Pinned(text.get(), {User("day 5, a")}), "day 1, a");
  EXPECT_EQ(Pinned(text.get(), {User("day 6, b")}), "day 6, b");
}

TEST(VolatileText, AMatchThatIsTooLongStays) {
  const auto text = Days();
  const std::string ones(VolatileText::kMatchBytesMax, '1');
  const std::string twos(VolatileText::kMatchBytesMax, '2');
  EXPECT_EQ(Pinned(text.get(), {User("day " + ones)}), "day " + ones);
  EXPECT_EQ(Pinned(text.get(), {User("day " + twos)}), "day " + twos);
}

TEST(VolatileText, PatternsThatMatchNothingOrDoNotParseHarmNoOne) {
  const auto empty = VolatileText::Make({"x*", "(a|b)+c"});
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(Pinned(empty->get(), {User("x€y abac")}), "x€y abac");
  EXPECT_EQ(Pinned(empty->get(), {User("xxx€y abc")}), "x€y abac");
  const auto broken = VolatileText::Make({"("});
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(broken.error().message.find("'('"), std::string::npos) << broken.error().message;
}

// Returns what a conversation with the value `first` makes of the value `later`.
std::string PinnedLater(const std::string& first, const std::string& later) {
  const auto text = *VolatileText::Make({"auto"});
  Pinned(text.get(), {User(first)});
  return Pinned(text.get(), {User(later)});
}

TEST(VolatileText, AutoPinsDatesAndTimesThatAreNamed) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"Today's date: 2026-11-23. Go.", "Today's date: 2026-11-24. Go."},
      {"Today is Monday, November 23rd, 2026\nGo", "Today is Tuesday, November 24th, 2026\nGo"},
      {"Current time: 2026-11-23T10:04:05.123Z", "Current time: 2026-11-23T10:05:59.9Z"},
      {"# Current Time\n11/23/2026, 4:05:06 PM (Europe/Berlin)",
       "# Current Time\n11/23/2026, 4:06:59 PM (Europe/Berlin)"},
      {"The current date and time is Mon 23 Nov 2026 16:05 UTC.",
       "The current date and time is Tue 24 Nov 2026 09:15 UTC."},
      {"<total_tokens>181204 left</total_tokens>", "<total_tokens>7 left</total_tokens>"}};
  for (const auto& [first, later] : pairs) EXPECT_EQ(PinnedLater(first, later), first);
}

TEST(VolatileText, AutoLeavesWhatAPersonMayHaveMeant) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"The meeting is on 2026-11-23.", "The meeting is on 2026-11-24."},
      {"Today 5 came, 6 today.", "Today 7 came, 8 today."},
      {"It is 10:04 now.", "It is 10:05 now."},
      {"Today is a good day 1.", "Today is a good day 2."}};
  for (const auto& [first, later] : pairs) EXPECT_EQ(PinnedLater(first, later), later);
}

TEST(VolatileText, AutoIsFoundAroundAPlaceInAText) {
  const std::string text = std::string(400, 'x') + " Today's date: 2026-11-23. On 2026-11-24.";
  EXPECT_TRUE(IsBuiltinVolatile(text, text.find("23")));
  EXPECT_FALSE(IsBuiltinVolatile(text, text.find("24.")));
  EXPECT_FALSE(IsBuiltinVolatile(text, 3));
  EXPECT_FALSE(IsBuiltinVolatile("", 0));
}

}  // namespace
}  // namespace cairn::volatile_text_test
