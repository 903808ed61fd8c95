#include "chat/spans/late_values.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::late_values_test {
namespace {

using test::Assistant;
using test::Call;
using test::System;
using test::ToolAnswer;
using test::User;

using Messages = std::vector<Message>;

// Home Assistant's system prompt, with its clock in front.
Message AtTime(const std::string& time) {
  return System("Current time is " + time + ". Today's date is 2026-11-28.\nYou run a house.");
}

std::string ReminderOf(const std::string& values) {
  return "<system-reminder>\nCurrent values of what is said above: " + values +
         "\n</system-reminder>";
}

// One client's conversation, sent again and again.
class Client {
 public:
  explicit Client(LateValues* late, uint64_t name_space = 0)
      : late_(late), name_space_(name_space) {}

  // Returns the texts that the template would get.
  std::vector<std::string> Send(Messages messages, bool remember = true) {
    Conversation conversation{.messages = std::move(messages)};
    moved_ = late_->Apply(name_space_, remember, &conversation);
    std::vector<std::string> texts;
    for (const Message& message : conversation.messages) texts.push_back(message.content);
    return texts;
  }

  const std::vector<LateValue>& moved() const { return moved_; }

 private:
  LateValues* const late_;
  const uint64_t name_space_;
  std::vector<LateValue> moved_;
};

std::vector<std::string> TextsOf(const Messages& messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) texts.push_back(message.content);
  return texts;
}

TEST(LateValues, AClockInTheSystemPromptIsToldAtTheNewestMessageAndStaysToldThere) {
  LateValues late;
  Client client(&late);
  const Messages first = {AtTime("10:04:05"), User("Lights on.")};
  EXPECT_EQ(client.Send(first), TextsOf(first));
  const Messages second = {AtTime("10:05:07"), User("Lights on."), Assistant("On."), User("Off.")};
  const std::string kept = AtTime("10:04:05").content;
  const std::string told = "Off.\n\n" + ReminderOf("Current time is 10:05:07");
  EXPECT_EQ(client.Send(second), (std::vector<std::string>{kept, "Lights on.", "On.", told}));
  ASSERT_EQ(client.moved().size(), 1u);
  EXPECT_EQ(client.moved()[0].message, 0u);
  EXPECT_EQ(client.moved()[0].kept, "Current time is 10:04:05");
  EXPECT_EQ(client.moved()[0].sent, "Current time is 10:05:07");
  EXPECT_EQ(client.moved()[0].told_at, 3u);
  Messages third = second;
  third[0] = AtTime("10:09:00");
  third.push_back(Assistant("Off."));
  third.push_back(User("Thanks."));
  EXPECT_EQ(client.Send(third),
            (std::vector<std::string>{kept, "Lights on.", "On.", told, "Off.",
                                      "Thanks.\n\n" + ReminderOf("Current time is 10:09:00")}));
  // What was told last still holds, so nothing is told again.
  Messages fourth = third;
  fourth.push_back(Assistant("Bye."));
  fourth.push_back(User("Bye."));
  EXPECT_EQ(client.Send(fourth).back(), "Bye.");
  ASSERT_EQ(client.moved().size(), 1u);
  EXPECT_EQ(client.moved()[0].told_at, 5u);
}

TEST(LateValues, AClockThatGoesBackIsToldAgain) {
  LateValues late;
  Client client(&late);
  Messages talk = {AtTime("10:04"), User("a")};
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("b"), User("c")});
  talk[0] = AtTime("11:04");
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("d"), User("e")});
  talk[0] = AtTime("10:04");
  EXPECT_EQ(client.Send(talk)[5], "e\n\n" + ReminderOf("Current time is 10:04"));
}

TEST(LateValues, AValueThatNoWordsAnnounceIsKeptFromItsSecondChangeOn) {
  LateValues late;
  Client client(&late);
  // Kai writes a clock anew into an old message.
  const auto stamped = [](const std::string& time) {
    return User("The time is " + time + ".\n\nA long text.");
  };
  Messages talk = {System("s"), stamped("2026-11-21T09:10:00Z")};
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("b"), User("c")});
  talk[1] = stamped("2026-11-21T09:11:00Z");
  EXPECT_EQ(client.Send(talk), TextsOf(talk));
  EXPECT_TRUE(client.moved().empty());
  talk.insert(talk.end(), {Assistant("d"), User("e")});
  talk[1] = stamped("2026-11-21T09:12:00Z");
  const std::vector<std::string> sent = client.Send(talk);
  EXPECT_EQ(sent[1], stamped("2026-11-21T09:11:00Z").content);
  EXPECT_EQ(sent[5], "e\n\n" + ReminderOf("The time is 2026-11-21T09:12:00Z"));
}

TEST(LateValues, RandomIdsAndCountersAreTold) {
  const std::vector<std::vector<std::string>> values = {
      {"Session: 0f8fad5b-d9cb-469f-a165-70867728950e",
       "Session: 7c9e6679-7425-40de-944b-e07fc1f90ae7",
       "Session: 16fd2706-8baf-433b-82eb-8c7fada847da"},
      {"id ses_00ff17aa93bc4d21e8", "id ses_10ff17aa93bc4d21e8", "id ses_20ff17aa93bc4d21e8"},
      {"You have 12 steps left", "You have 11 steps left", "You have 10 steps left"},
      {"now 1764300000123", "now 1764300060123", "now 1764300120123"}};
  for (const std::vector<std::string>& value : values) {
    LateValues late;
    Client client(&late);
    Messages talk = {System(value[0]), User("a")};
    client.Send(talk);
    talk.insert(talk.end(), {Assistant("b"), User("c")});
    talk[0] = System(value[1]);
    EXPECT_EQ(client.Send(talk), TextsOf(talk));
    talk.insert(talk.end(), {Assistant("d"), User("e")});
    talk[0] = System(value[2]);
    const std::vector<std::string> sent = client.Send(talk);
    EXPECT_EQ(sent[0], value[1]);
    EXPECT_EQ(sent[5], "e\n\n" + ReminderOf(value[2]));
  }
}

TEST(LateValues, AValueAloneOnItsLineIsToldBesideTheKeptOne) {
  LateValues late;
  Client client(&late);
  Messages talk = {System("House\n2026-11-21\nrules"), User("a")};
  client.Send(talk);
  for (const char* day : {"22", "23"}) {
    talk.insert(talk.end(), {Assistant("b"), User("c")});
    talk[0] = System("House\n2026-11-" + std::string(day) + "\nrules");
    client.Send(talk);
  }
  EXPECT_EQ(client.moved().size(), 1u);
  talk.insert(talk.end(), {Assistant("d"), User("e")});
  talk[0] = System("House\n2026-11-24\nrules");
  EXPECT_EQ(client.Send(talk).back(), "e\n\n" + ReminderOf("2026-11-22 is now 2026-11-24"));
}

TEST(LateValues, ACountdownInAToolLoopIsToldAtEachResult) {
  LateValues late;
  Client client(&late);
  const auto left = [](int tokens) {
    return System("s <total_tokens>" + std::to_string(tokens) + " left</total_tokens>");
  };
  Messages talk = {left(9000), User("Look.")};
  std::vector<std::string> before = client.Send(talk);
  for (int step = 1; step <= 30; ++step) {
    talk[0] = left(9000 - step);
    talk.push_back(Call("weather", "{\"n\":" + std::to_string(step) + "}"));
    talk.push_back(ToolAnswer("warm"));
    const std::vector<std::string> sent = client.Send(talk);
    // All that the step before had is as it was.
    EXPECT_TRUE(std::equal(before.begin(), before.end(), sent.begin()));
    EXPECT_EQ(sent.back(), "warm\n\n" + ReminderOf("<total_tokens>" + std::to_string(9000 - step) +
                                                   " left</total_tokens>"));
    before = sent;
  }
}

TEST(LateValues, AStepThatIsSentAgainWithAnotherValueIsToldTheNewest) {
  LateValues late;
  Client client(&late);
  Messages talk = {AtTime("10:04"), User("a")};
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("b"), User("c")});
  for (const char* time : {"10:05", "10:06"}) {
    talk[0] = AtTime(time);
    EXPECT_EQ(client.Send(talk)[3], "c\n\n" + ReminderOf("Current time is " + std::string(time)));
  }
  talk.insert(talk.end(), {Assistant("d"), User("e")});
  EXPECT_EQ(client.Send(talk)[3], "c\n\n" + ReminderOf("Current time is 10:06"));
  EXPECT_EQ(client.Send(talk)[5], "e");
}

TEST(LateValues, TheUsersOwnQuestionIsNeverTouched) {
  LateValues late;
  Client client(&late);
  const auto asked = [](const std::string& day) {
    return User("Today's date: 2026-11-" + day + ". What is on?");
  };
  // Neither when it is sent again with another date, nor while tools are called for it.
  for (const char* day : {"21", "22", "23"}) {
    EXPECT_EQ(client.Send({System("s"), asked(day)}),
              (std::vector<std::string>{"s", asked(day).content}));
  }
  Messages loop = {System("s"), asked("24"), Call("weather", "{}"), ToolAnswer("warm")};
  EXPECT_EQ(client.Send(loop), TextsOf(loop));
  loop[1] = asked("25");
  loop.insert(loop.end(), {Call("weather", "{}"), ToolAnswer("cold")});
  EXPECT_EQ(client.Send(loop), TextsOf(loop));
  // An older one is as the model has read it, and the new date is told.
  Messages next = loop;
  next[1] = asked("26");
  next.insert(next.end(), {Assistant("d"), User("e")});
  const std::vector<std::string> sent = client.Send(next);
  EXPECT_EQ(sent[1], asked("25").content);
  EXPECT_EQ(sent.back(), "e\n\n" + ReminderOf("Today's date: 2026-11-26"));
}

TEST(LateValues, AnotherConversationKeepsItsOwnValues) {
  LateValues late;
  Client client(&late);
  client.Send({AtTime("10:04"), User("a")});
  // The same question at another time, and questions behind the same examples, are not continued.
  const Messages again = {AtTime("11:04"), User("a")};
  EXPECT_EQ(client.Send(again), TextsOf(again));
  const auto item = [](const std::string& time, const std::string& question) {
    return Messages{AtTime(time), User("1+1"), Assistant("2"), User(question)};
  };
  for (const Messages& one : {item("10:05", "2+2"), item("10:06", "3+3"), item("10:07", "4+4")}) {
    EXPECT_EQ(client.Send(one), TextsOf(one));
  }
  // An answer whose beginning the client writes is not one of an earlier turn.
  const Messages begun = {AtTime("12:04"), User("a"), Assistant("Well,")};
  EXPECT_EQ(client.Send(begun), TextsOf(begun));
}

TEST(LateValues, AChangeOfTheRestLeavesEverythingBehindItAsItWasSent) {
  LateValues late;
  Client client(&late);
  Messages talk = {AtTime("10:04"), User("a")};
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("b"), User("c")});
  talk[0] = AtTime("10:05");
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("d"), User("e")});
  talk[0] = AtTime("10:06");
  Messages edited = talk;
  edited[0].content += " Whisper.";
  EXPECT_EQ(client.Send(edited), TextsOf(edited));
  // With another second question, it goes on from the first one.
  edited = talk;
  edited[3] = User("C");
  const std::vector<std::string> sent = client.Send(edited);
  EXPECT_EQ(sent[0], AtTime("10:04").content);
  EXPECT_EQ(sent[3], "C");
  EXPECT_EQ(sent[5], "e\n\n" + ReminderOf("Current time is 10:06"));
}

TEST(LateValues, AConversationWithoutValuesIsNeitherChangedNorRemembered) {
  LateValues late;
  Client client(&late);
  Messages talk = {System("No clock here. 5 of 7, 12345678, deadbeefdeadbeef, 0.5 % of 10."),
                   User("a")};
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(client.Send(talk), TextsOf(talk));
    talk.insert(talk.end(), {Assistant("b"), User("c")});
  }
  EXPECT_EQ(late.bytes(), 0u);
}

TEST(LateValues, ValuesThatDoNotChangeLeaveAPromptAsItWasSent) {
  LateValues late;
  Client client(&late);
  Messages talk = {AtTime("10:04"), User("On 2026-11-21 at 10:04?")};
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(client.Send(talk), TextsOf(talk));
    talk.insert(talk.end(), {Assistant("b at 10:05"), User("c at 10:06")});
  }
}

TEST(LateValues, ManyChangesAtOnceAreData) {
  LateValues late;
  Client client(&late);
  const auto table = [](int first, size_t rows) {
    std::string text = "Log\n";
    for (size_t i = 0; i < rows; ++i) {
      text += "Current time: 10:" + std::to_string(first + static_cast<int>(i)) + "\n";
    }
    return System(text);
  };
  for (const size_t rows : {LateValues::kToldMax, LateValues::kToldMax + 1}) {
    Messages talk = {table(10, rows), User("a")};
    client.Send(talk);
    talk.insert(talk.end(), {Assistant("b"), User("c")});
    talk[0] = table(30, rows);
    const std::vector<std::string> sent = client.Send(talk);
    EXPECT_EQ(sent == TextsOf(talk), rows > LateValues::kToldMax);
  }
}

TEST(LateValues, KeysAreApartAndNothingOutlivesAForgottenPrompt) {
  LateValues late;
  const Messages first = {AtTime("10:04"), User("a")};
  const Messages second = {AtTime("10:05"), User("a"), Assistant("b"), User("c")};
  Client(&late, 1).Send(first);
  EXPECT_EQ(Client(&late, 2).Send(second), TextsOf(second));
  EXPECT_NE(Client(&late, 1).Send(second), TextsOf(second));
  // As after a restart.
  LateValues anew;
  EXPECT_EQ(Client(&anew, 1).Send(second), TextsOf(second));
}

// Where the first eight bytes of a text are the secret of XXH3, a product in its 64 bits is zero
// whatever the next eight are.
TEST(LateValues, ATextWhose64BitsAreTheSameIsAnotherConversation) {
  const std::string secret = "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe";
  const std::string one = secret + "question" + "of a long walk..";
  const std::string other = secret + "remember" + "of a long walk..";
  ASSERT_EQ(Hash64(one), Hash64(other));
  LateValues late;
  Client client(&late);
  client.Send({AtTime("10:04"), User(one)});
  const auto next = [](const std::string& first) {
    return Messages{AtTime("10:05"), User(first), Assistant("b"), User("c")};
  };
  EXPECT_EQ(client.Send(next(other)), TextsOf(next(other)));
  EXPECT_NE(client.Send(next(one)), TextsOf(next(one)));
}

TEST(LateValues, MemoryIsBounded) {
  constexpr size_t kBytesMax = 20'000;
  LateValues late(kBytesMax);
  Client client(&late);
  for (int i = 0; i < 200; ++i) {
    client.Send({AtTime("10:04"), User("question " + std::to_string(i))});
    EXPECT_LE(late.bytes(), kBytesMax);
  }
  EXPECT_GT(late.bytes(), kBytesMax / 2);
  const auto next = [](int i) {
    return Messages{AtTime("10:05"), User("question " + std::to_string(i)), Assistant("b"),
                    User("c")};
  };
  EXPECT_EQ(client.Send(next(0)), TextsOf(next(0)));
  EXPECT_NE(client.Send(next(199)), TextsOf(next(199)));
}

TEST(LateValues, APrefetchedTurnHasWhatWasToldAndLeavesNoTrace) {
  LateValues late;
  Client client(&late);
  Messages talk = {AtTime("10:04"), User("a")};
  client.Send(talk);
  talk.insert(talk.end(), {Assistant("b"), User("c")});
  talk[0] = AtTime("10:05");
  const std::vector<std::string> asked = client.Send(talk);
  const size_t bytes = late.bytes();
  talk.insert(talk.end(), {Assistant("d"), User("…")});
  const std::vector<std::string> expected = client.Send(talk, /*remember=*/false);
  EXPECT_TRUE(std::equal(asked.begin(), asked.end(), expected.begin()));
  EXPECT_EQ(expected.back(), "…");
  EXPECT_EQ(late.bytes(), bytes);
}

TEST(LateValues, MediaStayWhereTheyAre) {
  LateValues late;
  Client client(&late);
  const auto medium = MakeMedium(MediumKind::kImage, {1}, "");
  const auto seen = [&](const std::string& time) {
    Message message = User("Current time: " + time + " ");
    AppendMarker(medium, &message.content, &message.media);
    message.content += " end";
    return message;
  };
  client.Send({seen("10:04")});
  Conversation conversation{.messages = {seen("11:04:59"), Assistant("b"), User("c")}};
  EXPECT_EQ(late.Apply(0, true, &conversation).size(), 1u);
  const Message& message = conversation.messages[0];
  ASSERT_EQ(message.media.size(), 1u);
  EXPECT_EQ(message.content, seen("10:04").content);
  EXPECT_EQ(
      message.content.substr(message.media[0].begin, message.media[0].end - message.media[0].begin),
      MarkerOf(*medium));
}

// Some templates move the system text, drop it or refuse it where it is told.
TEST(LateValues, EveryTemplateShowsWhatIsToldAndLeavesTheTurnsBeforeAsTheyWere) {
  for (const std::string& name : test::FamilyNames()) {
    const auto family = test::Family(name);
    ASSERT_NE(family, nullptr);
    LateValues late;
    Messages talk = {AtTime("10:10"), User("u1 Hi.")};
    std::string before;
    for (int turn = 1; turn <= 4; ++turn) {
      Conversation conversation{.messages = talk, .now_unix_s = 1'700'049'600};
      late.Apply(0, true, &conversation);
      const std::string prompt = test::Render(*family, conversation, false);
      EXPECT_TRUE(prompt.starts_with(before)) << name << ": " << prompt;
      if (turn > 1) {
        EXPECT_NE(prompt.find("Current time is 10:1" + std::to_string(turn)), std::string::npos)
            << name << ": " << prompt;
      }
      // What a template writes behind the last message belongs to the answer.
      const std::string& newest = conversation.messages.back().content;
      ASSERT_NE(prompt.rfind(newest), std::string::npos) << name << ": " << prompt;
      before = prompt.substr(0, prompt.rfind(newest) + newest.size());
      talk[0] = AtTime("10:1" + std::to_string(turn + 1));
      talk.insert(talk.end(), {Assistant("a" + std::to_string(turn)), User("Next.")});
    }
  }
}

}  // namespace
}  // namespace cairn::late_values_test
