// Clients whose old text has values that change, on a service that tells them late and on one that
// does not.

#include <cstdlib>
#include <fstream>
#include <functional>

#include "api/answer/answer_reader.h"
#include "api/record/request_log.h"
#include "testing/api/api_fixture.h"

namespace cairn::late_values_service_test {
namespace {

constexpr int kTurns = 6;

std::string Rules() {
  return std::string(900, 'r');
}

Message Said(Role role, const std::string& text) {
  return {.role = role, .content = text};
}

class LateValuesServiceTest : public ApiTest {
 protected:
  LateValuesServiceTest() : ApiTest(MemoryClass::kAttention) {}

  static ChatServiceOptions Late() {
    ChatServiceOptions options;
    options.prompt.late_values = std::make_shared<LateValues>();
    return options;
  }

  // Returns what is told of the request in `/cairn/requests`.
  Json Ask(const ChatService& service, std::vector<Message> messages, bool reuse = true) {
    ChatRequest request;
    request.conversation.messages = std::move(messages);
    request.params.tokens_max = 8;
    request.reuse = reuse;
    auto chat = service.Start(std::move(request), 0);
    EXPECT_TRUE(chat.has_value()) << chat.error().message;
    const std::string id = std::to_string(++asked_);
    auto record = log_.Begin({id, "/test", 0, 0}, std::move(chat->explained), &engine_);
    Watch(record, chat->generation.get());
    tells_ = record->Tells(false);
    auto answer = CollectAnswer(std::move(*chat), [] { return false; });
    EXPECT_TRUE(answer.has_value());
    answer_ = answer ? answer->content : "";
    told_ = record->Told();
    return Json::parse(*log_.Find(id, 0))["reuse"];
  }

  // Returns the share of prompt tokens that were reused behind the first request.
  double Play(const ChatService& service, const std::function<std::string(int turn)>& front) {
    std::vector<Message> talk = {Said(Role::kSystem, "")};
    size_t sent = 0;
    size_t reused = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      talk[0].content = front(turn) + "\n" + Rules();
      talk.push_back(Said(Role::kUser, "Question " + std::to_string(turn)));
      const Json reuse = Ask(service, talk);
      talk.push_back(Said(Role::kAssistant, answer_));
      if (turn == 0) continue;
      sent += reuse["prompt_tokens"].get<size_t>();
      reused += reuse["reused_tokens"].get<size_t>();
    }
    return static_cast<double>(reused) / static_cast<double>(sent);
  }

  RequestLog log_;
  int asked_ = 0;
  bool tells_ = false;
  std::string answer_;
  Json told_;
};

TEST_F(LateValuesServiceTest, HomeAssistantsClockCostsItsLineAndNoMore) {
  const auto clock = [](int turn) {
    return "Current time is 10:0" + std::to_string(turn) + ":17. Today's date is 2026-11-28.";
  };
  EXPECT_LT(Play(service_, clock), 0.3);
  const ChatService late(&engine_, template_.get(), &scheduler_, Late());
  EXPECT_GT(Play(late, clock), 0.85);
}

TEST_F(LateValuesServiceTest, OpenCodesDateCostsNothingAtMidnight) {
  const ChatService late(&engine_, template_.get(), &scheduler_, Late());
  const auto date = [](int turn) {
    return std::string("Today's date: ") + (turn < 3 ? "Sat Nov 21" : "Sun Nov 22") + " 2026";
  };
  EXPECT_GT(Play(late, date), 0.9);
}

TEST_F(LateValuesServiceTest, WhatWasMovedIsInTheAnswerAndInTheLog) {
  const ChatService late(&engine_, template_.get(), &scheduler_, Late());
  const auto at = [](const std::string& time) {
    return Said(Role::kSystem, "Current time: " + time + "\n" + Rules());
  };
  std::vector<Message> talk = {at("10:04"), Said(Role::kUser, "a")};
  Ask(late, talk);
  EXPECT_FALSE(tells_);
  EXPECT_TRUE(told_.is_null());
  talk.insert(talk.end(), {Said(Role::kAssistant, answer_), Said(Role::kUser, "c")});
  talk[0] = at("10:05");
  const Json reuse = Ask(late, talk);
  EXPECT_TRUE(tells_);
  const Json moved = Json::parse(
      R"([{"message":0,"kept":"Current time: 10:04","sent":"Current time: 10:05","told_at":3}])");
  EXPECT_EQ(told_["volatile"], moved);
  EXPECT_EQ(reuse["volatile"], moved);
  EXPECT_GT(reuse["reused_tokens"].get<size_t>(), Rules().size());
}

TEST_F(LateValuesServiceTest, ARequestThatForbidsReuseIsRenderedAsItWasSent) {
  const ChatService late(&engine_, template_.get(), &scheduler_, Late());
  const auto at = [](const std::string& time) {
    return Said(Role::kSystem, "Current time: " + time);
  };
  Ask(late, {at("10:04"), Said(Role::kUser, "a")});
  const std::vector<Message> next = {at("10:05"), Said(Role::kUser, "a"),
                                     Said(Role::kAssistant, "b"), Said(Role::kUser, "c")};
  EXPECT_FALSE(Ask(late, next, /*reuse=*/false).contains("volatile"));
  EXPECT_TRUE(Ask(late, next).contains("volatile"));
}

// The states come back from disk; what was told does not.
TEST_F(LateValuesServiceTest, AfterARestartAConversationIsRenderedAsItWasSent) {
  const auto at = [](const std::string& time) {
    return Said(Role::kSystem, "Current time: " + time + "\n" + Rules());
  };
  std::vector<Message> talk = {at("10:04"), Said(Role::kUser, "a")};
  {
    const ChatService late(&engine_, template_.get(), &scheduler_, Late());
    Ask(late, talk);
  }
  const ChatService anew(&engine_, template_.get(), &scheduler_, Late());
  talk.insert(talk.end(), {Said(Role::kAssistant, answer_), Said(Role::kUser, "c")});
  talk[0] = at("10:05");
  EXPECT_FALSE(Ask(anew, talk).contains("volatile"));
  talk.insert(talk.end(), {Said(Role::kAssistant, answer_), Said(Role::kUser, "e")});
  talk[0] = at("10:06");
  const Json moved = Ask(anew, talk)["volatile"];
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0]["kept"], "Current time: 10:05");
}

// Recorded dialogues have dates and ids, but none that changes in old text.
TEST_F(LateValuesServiceTest, NoRecordedRequestChangesByAByte) {
  const char* const other = std::getenv("CAIRN_TEST_DIALOGUES");
  std::ifstream file(other != nullptr ? other
                                      : CAIRN_SOURCE_DIR "/testdata/traces/lighthouse.jsonl");
  LateValues late;
  size_t requests = 0;
  for (std::string line; std::getline(file, line);) {
    Json body = {{"messages", Json::parse(line)["messages"]}};
    const auto request = ParseChatRequest(body, GenerationParams{});
    ASSERT_TRUE(request.has_value()) << request.error().message;
    const std::vector<Message>& messages = request->conversation.messages;
    for (size_t count = 1; count < messages.size(); ++count) {
      if (messages[count].role != Role::kAssistant) continue;
      Conversation asked;
      asked.messages.assign(messages.begin(),
                            messages.begin() + static_cast<std::ptrdiff_t>(count));
      EXPECT_TRUE(late.Apply(0, true, &asked).empty());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(asked.messages[i].content, messages[i].content);
      }
      ++requests;
    }
  }
  EXPECT_GT(requests, 3u);
}

}  // namespace
}  // namespace cairn::late_values_service_test
