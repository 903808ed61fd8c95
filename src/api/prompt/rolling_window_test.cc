#include "api/prompt/rolling_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "testing/chat/test_templates.h"

namespace cairn::rolling_window_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

// Of so many messages, how many a client leaves out.
using Rule = std::function<size_t(const std::vector<Message>&)>;

Rule LastMessages(size_t messages) {
  return [messages](const std::vector<Message>& all) {
    return all.size() - std::min(all.size(), messages);
  };
}

// From the so-and-so many'th user's message from the end on.
Rule LastTurns(size_t turns) {
  return [turns](const std::vector<Message>& all) {
    size_t left = turns;
    for (size_t i = all.size(); i > 0; --i) {
      if (all[i - 1].role == Role::kUser && --left == 0) return i - 1;
    }
    return size_t{0};
  };
}

Rule Never() {
  return [](const std::vector<Message>&) { return size_t{0}; };
}

// Goes on with a conversation, turn by turn, and holds what is expected of it to what it does.
class Client {
 public:
  Client(RollingWindows* windows, Rule rule, NamespaceId name_space = 1)
      : windows_(windows), rule_(std::move(rule)), name_space_(name_space) {}

  // Asks, and has the answer. True: what it left out was expected.
  bool Ask(Message answer = Assistant("")) {
    Add({User("question " + std::to_string(++count_))});
    return Answered(std::move(answer));
  }
  bool BringResults(size_t results, Message answer = Assistant("")) {
    std::vector<Message> messages;
    for (size_t i = 0; i < results; ++i) {
      messages.push_back(ToolAnswer("result " + std::to_string(++count_)));
    }
    Add(std::move(messages));
    return Answered(std::move(answer));
  }
  // The last turn left something out.
  bool rolled() const { return rolled_; }
  // Something will be left out the next time.
  bool expects() const { return expected_.has_value(); }
  // How many of its messages would be left, without the next answer.
  size_t left() const { return expected_ ? expected_->size() : 0; }
  std::vector<Message>& kept() { return kept_; }
  std::string& system() { return system_; }

 private:
  void Add(std::vector<Message> messages) {
    for (Message& message : messages) kept_.push_back(std::move(message));
    const size_t dropped = rule_(kept_);
    rolled_ = dropped > 0;
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(dropped));
    // Of what is not known beforehand the expectation says nothing.
    const size_t known = kept_.size() - messages.size() - 1;
    if (rolled_ && expected_) {
      held_ = std::equal(expected_->begin(), expected_->end(), kept_.begin(),
                         kept_.begin() + static_cast<ptrdiff_t>(std::min(known, kept_.size())),
                         [](const Message& a, const Message& b) { return a.content == b.content; });
    } else {
      held_ = !rolled_ && !expected_;
    }
  }
  bool Answered(Message answer) {
    Conversation asked{.messages = {System(system_)}};
    asked.messages.insert(asked.messages.end(), kept_.begin(), kept_.end());
    const auto left = windows_->Expect(name_space_, asked, answer);
    expected_.reset();
    if (left) expected_.emplace(left->messages.begin() + 1, left->messages.end());
    answer.content = "answer " + std::to_string(count_);
    kept_.push_back(std::move(answer));
    return held_;
  }

  RollingWindows* const windows_;
  const Rule rule_;
  const NamespaceId name_space_;
  std::string system_ = "Be kind.";
  std::vector<Message> kept_;
  std::optional<std::vector<Message>> expected_;
  size_t count_ = 0;
  bool rolled_ = false;
  bool held_ = true;
};

// Until its first roll.
void AskUntilItRolls(Client* client) {
  for (int i = 0; i < 30; ++i) {
    client->Ask();
    if (client->rolled()) return;
    EXPECT_FALSE(client->expects());
  }
  FAIL() << "it never rolls";
}

Message Calls(size_t calls) {
  Message message{.role = Role::kAssistant};
  for (size_t i = 0; i < calls; ++i) message.tool_calls.push_back({.name = "look"});
  return message;
}

TEST(RollingWindows, ExpectAConstantWindowFromItsFirstRollOn) {
  for (const size_t messages : {3, 4, 5, 6, 9, 20}) {
    SCOPED_TRACE(messages);
    RollingWindows windows;
    Client client(&windows, LastMessages(messages));
    AskUntilItRolls(&client);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(client.expects());
      // With the answer and the next message it is the window again.
      EXPECT_EQ(client.left(), messages - 2);
      EXPECT_TRUE(client.Ask());
    }
  }
}

TEST(RollingWindows, ExpectWholeTurnsOfAClientThatCountsThem) {
  RollingWindows windows;
  Client client(&windows, LastTurns(3));
  size_t held = 0;
  size_t turns = 0;
  // Every third turn has calls, so turns are not of one length.
  for (size_t turn = 0; turn < 30; ++turn) {
    bool expected = true;
    if (turn % 3 == 0) {
      client.Ask(Calls(2));
      expected = client.BringResults(2);
    } else {
      expected = client.Ask();
    }
    if (turn < 12) continue;
    ++turns;
    held += expected ? 1 : 0;
  }
  EXPECT_EQ(held, turns);
}

TEST(RollingWindows, ExpectAWindowOfMessagesToRollWithinATurnToo) {
  RollingWindows windows;
  Client client(&windows, LastMessages(6));
  AskUntilItRolls(&client);
  client.Ask(Calls(1));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(client.BringResults(1, Calls(1)));
  EXPECT_TRUE(client.BringResults(1, Calls(3)));
  EXPECT_TRUE(client.BringResults(3));
  EXPECT_TRUE(client.Ask());
}

TEST(RollingWindows, ExpectNothingOfAClientThatOnlyGrows) {
  RollingWindows windows;
  Client client(&windows, Never());
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(client.Ask());
    EXPECT_FALSE(client.expects());
  }
  EXPECT_EQ(windows.conversations(), 1u);
}

TEST(RollingWindows, ExpectABatchOnceTheConversationIsAsLongAgain) {
  RollingWindows windows;
  Client client(&windows, [](const std::vector<Message>& all) {
    return all.size() > 12 ? all.size() - 5 : 0;
  });
  AskUntilItRolls(&client);
  size_t rolls = 0;
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(client.Ask());
    rolls += client.rolled() ? 1 : 0;
  }
  EXPECT_GE(rolls, 5u);
}

TEST(RollingWindows, AreNotBelievedAfterARollOfAnotherKindUntilTwoAgree) {
  RollingWindows windows;
  size_t keeps = 5;
  Client client(&windows, [&](const std::vector<Message>& all) {
    return all.size() - std::min(all.size(), keeps);
  });
  AskUntilItRolls(&client);
  client.Ask();
  EXPECT_TRUE(client.expects());
  keeps = 3;
  client.Ask();
  EXPECT_FALSE(client.expects());
  client.Ask();
  EXPECT_TRUE(client.expects());
  EXPECT_TRUE(client.Ask());
}

TEST(RollingWindows, AreNotBelievedAfterAConversationGrewThatWasToRoll) {
  RollingWindows windows;
  bool once = true;
  Client client(&windows, [&](const std::vector<Message>& all) {
    return all.size() == 7 && std::exchange(once, false) ? size_t{2} : size_t{0};
  });
  AskUntilItRolls(&client);
  EXPECT_TRUE(client.expects());
  EXPECT_FALSE(client.Ask());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(client.Ask());
}

TEST(RollingWindows, DoNotTakeAnEditedEarlyMessageForARoll) {
  RollingWindows windows;
  Client client(&windows, Never());
  for (int i = 0; i < 5; ++i) client.Ask();
  client.kept()[0].content = "another question";
  client.Ask();
  EXPECT_FALSE(client.expects());
  // Nor one that is gone from the middle.
  client.kept().erase(client.kept().begin() + 2, client.kept().begin() + 4);
  client.Ask();
  EXPECT_FALSE(client.expects());
}

TEST(RollingWindows, DoNotTakeASummaryForARoll) {
  RollingWindows windows;
  Client in_header(&windows, LastMessages(5), 1);
  AskUntilItRolls(&in_header);
  in_header.system() = "Be kind. So far: nothing.";
  in_header.Ask();
  EXPECT_FALSE(in_header.expects());
  Client in_messages(&windows, Never(), 2);
  for (int i = 0; i < 5; ++i) in_messages.Ask();
  auto& kept = in_messages.kept();
  kept.erase(kept.begin(), kept.begin() + 4);
  kept.insert(kept.begin(), {User("So far: nothing."), Assistant("I see.")});
  in_messages.Ask();
  EXPECT_FALSE(in_messages.expects());
}

TEST(RollingWindows, KnowNothingOfAnotherNamespace) {
  RollingWindows windows;
  Client client(&windows, LastMessages(5), 1);
  AskUntilItRolls(&client);
  Conversation same{.messages = {System(client.system())}};
  for (const Message& message : client.kept()) same.messages.push_back(message);
  same.messages.push_back(User("more"));
  same.messages.erase(same.messages.begin() + 1, same.messages.begin() + 3);
  EXPECT_FALSE(windows.Expect(2, same, Assistant("a")).has_value());
  EXPECT_TRUE(windows.Expect(1, same, Assistant("a")).has_value());
}

TEST(RollingWindows, LookAtNeitherReasoningNorIdsOfCalls) {
  RollingWindows windows;
  Conversation asked{.messages = {User("1"), Call("look", "{}", "Hm."), ToolAnswer("2"),
                                  Assistant("3", "So."), User("4")}};
  EXPECT_FALSE(windows.Expect(1, asked, Assistant("5", "Well.")).has_value());
  Conversation next{.messages = {Call("look", "{}"), ToolAnswer("2"), Assistant("3"), User("4"),
                                 Assistant("5"), User("6")}};
  next.messages[0].tool_calls[0].id = "other";
  next.messages[1].tool_call_id = "other";
  const auto left = windows.Expect(1, next, Assistant("7"));
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->messages.size(), 4u);
  EXPECT_EQ(left->messages[0].content, "3");
}

TEST(RollingWindows, LearnNothingFromTheSameRequestAgain) {
  RollingWindows windows;
  Client client(&windows, LastMessages(5));
  AskUntilItRolls(&client);
  Conversation again{.messages = {System(client.system())}};
  again.messages.insert(again.messages.end(), client.kept().begin(), client.kept().end() - 1);
  EXPECT_TRUE(windows.Expect(1, again, Assistant("another answer")).has_value());
  EXPECT_EQ(windows.conversations(), 1u);
  EXPECT_TRUE(client.Ask());
}

TEST(RollingWindows, ForgetThoseUnusedForLongestWithinEachNamespace) {
  RollingWindows windows;
  Client client(&windows, LastMessages(5), 0);
  AskUntilItRolls(&client);
  const auto ask = [&](NamespaceId name_space, size_t number) {
    const Conversation asked{.messages = {User(std::to_string(number))}};
    windows.Expect(name_space, asked, Assistant("a"));
  };
  for (size_t i = 0; i < 1000; ++i) ask(1, i);
  EXPECT_EQ(windows.conversations(), 1 + RollingWindows::kOfNamespaceMax);
  EXPECT_TRUE(client.Ask());
  EXPECT_TRUE(client.expects());
  for (NamespaceId name_space = 1; name_space < 40; ++name_space) {
    for (size_t i = 0; i < 100; ++i) ask(name_space, i);
  }
  EXPECT_EQ(windows.conversations(), RollingWindows::kConversationsMax);
  client.Ask();
  EXPECT_FALSE(client.expects());
}

TEST(RollingWindows, DoNotLookAtConversationsOfVeryManyMessages) {
  RollingWindows windows;
  Conversation asked;
  asked.messages.assign(RollingWindows::kMessagesMax + 1, User("go on"));
  EXPECT_FALSE(windows.Expect(1, asked, Assistant("a")).has_value());
  EXPECT_EQ(windows.conversations(), 0u);
}

}  // namespace
}  // namespace cairn::rolling_window_test
