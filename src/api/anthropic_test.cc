#include "api/anthropic.h"

#include "api/anthropic_request.h"
#include "api/api_fixture.h"
#include "api/json.h"
#include "api/played_answer.h"
#include "base/golden_file.h"

namespace cairn {
namespace {

const AnswerIdentity kIdentity = {"msg_1", "m", 1700000000};

std::string AllEvents(StartedChat chat) {
  MessageStream stream(std::move(chat), kIdentity);
  std::string text;
  while (stream.Next(&text)) {
  }
  return text;
}

Json Collect(StartedChat chat) {
  const auto body = CollectMessage(std::move(chat), kIdentity, [] { return false; });
  EXPECT_TRUE(body.has_value());
  return body ? Json::parse(*body) : Json();
}

class AnthropicTest : public ApiTest {
 protected:
  ApiResult<StartedChat> StartMessages(const std::string& body) {
    auto request = ParseMessagesRequest(Body(body), GenerationParams{});
    if (!request) return tl::unexpected(request.error());
    return service_.Start(std::move(*request), 0);
  }
};

TEST_F(AnthropicTest, AStreamNamesItsEventsAndClosesItsBlocks) {
  ExpectGolden("anthropic_stream.txt", AllEvents(Play(ThoughtTextAndTwoCalls())));
}

TEST_F(AnthropicTest, AWholeAnswerHoldsTheSameBlocks) {
  const Json message = Collect(Play(ThoughtTextAndTwoCalls()));
  ExpectGolden("anthropic_message.json", message.dump(2) + "\n");
}

TEST_F(AnthropicTest, AFailureInAStreamIsAnErrorEvent) {
  const std::string events = AllEvents(PlayFailure());
  EXPECT_TRUE(events.starts_with("event: message_start\n"));
  EXPECT_TRUE(
      events.ends_with("event: error\n"
                       R"(data: {"type":"error","error":{"type":"api_error","message":"it broke"}})"
                       "\n\n"))
      << events;
}

TEST_F(AnthropicTest, AFailureIsNoEmptyAnswer) {
  const auto body = CollectMessage(PlayFailure(), kIdentity, [] { return false; });
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().status, 500);
}

TEST_F(AnthropicTest, StopReasonsSayWhyItEnded) {
  const std::vector<AnswerPiece> text = {{AnswerPiece::Kind::kContent, "hi", 0}};
  EXPECT_EQ(Collect(Play(text))["stop_reason"], "end_turn");
  EXPECT_EQ(Collect(Play(text, FinishReason::kLength))["stop_reason"], "max_tokens");
  const Json stopped = Collect(Play(text, FinishReason::kStop, "END"));
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "END");
  EXPECT_EQ(Collect(Play(ThoughtTextAndTwoCalls()))["stop_reason"], "tool_use");
}

TEST_F(AnthropicTest, HalfACallIsNotHandedOut) {
  const Json message = Collect(Play({{AnswerPiece::Kind::kCallBegin, "weather", 0},
                                     {AnswerPiece::Kind::kCallArguments, R"({"city":"Ro)", 0}},
                                    FinishReason::kLength));
  EXPECT_EQ(message["content"], Json::array());
  EXPECT_EQ(message["stop_reason"], "max_tokens");
}

TEST_F(AnthropicTest, TheSamePromptAgainIsReadFromTheCache) {
  const std::string body = R"({"max_tokens":4,"messages":[{"role":"user","content":")" +
                           std::string(300, 'x') + R"("}]})";
  const Json first = Collect(std::move(*StartMessages(body)));
  const Json second = Collect(std::move(*StartMessages(body)));
  EXPECT_EQ(first["content"], second["content"]);
  EXPECT_EQ(first["stop_reason"], "max_tokens");
  EXPECT_EQ(first["usage"]["cache_read_input_tokens"], 0);
  EXPECT_EQ(first["usage"]["output_tokens"], 4);
  EXPECT_GT(second["usage"]["cache_read_input_tokens"].get<int>(), 300);
  EXPECT_EQ(second["usage"]["cache_read_input_tokens"].get<int>() +
                second["usage"]["input_tokens"].get<int>(),
            first["usage"]["input_tokens"].get<int>());
}

TEST_F(AnthropicTest, CountedTokensAreThosePromptsHave) {
  const std::string fields = R"("system":"Be brief.","messages":[{"role":"user","content":"hi"}])";
  const auto counted = CountTokensBody(service_, "{" + fields + "}", 0);
  ASSERT_TRUE(counted.has_value());
  auto chat = StartMessages(R"({"max_tokens":1,)" + fields + "}");
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(Json::parse(*counted)["input_tokens"],
            Collect(std::move(*chat))["usage"]["input_tokens"]);
  EXPECT_EQ(CountTokensBody(service_, "{}", 0).error().field, "messages");
  EXPECT_EQ(CountTokensBody(service_, "[]", 0).error().status, 400);
}

TEST_F(AnthropicTest, APromptThatIsTooLongIsToldInTheWordsClientsLookFor) {
  const auto chat = StartMessages(R"({"max_tokens":1,"messages":[{"role":"user","content":")" +
                                  std::string(5000, 'x') + R"("}]})");
  ASSERT_FALSE(chat.has_value());
  EXPECT_EQ(chat.error().status, 400);
  const std::string tokens = std::to_string(chat.error().prompt_tokens);
  EXPECT_EQ(MessagesErrorBody(chat.error()),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"prompt is too long: )" +
                tokens + R"( tokens > 4096 maximum"}})");
}

TEST_F(AnthropicTest, ErrorsHaveAnthropicsTypes) {
  const auto type_of = [](int status) {
    ApiError error;
    error.status = status;
    return Json::parse(MessagesErrorBody(error))["error"]["type"].get<std::string>();
  };
  EXPECT_EQ(type_of(400), "invalid_request_error");
  EXPECT_EQ(type_of(401), "authentication_error");
  EXPECT_EQ(type_of(403), "permission_error");
  EXPECT_EQ(type_of(404), "not_found_error");
  EXPECT_EQ(type_of(413), "request_too_large");
  EXPECT_EQ(type_of(429), "rate_limit_error");
  EXPECT_EQ(type_of(500), "api_error");
  EXPECT_EQ(type_of(503), "overloaded_error");
}

}  // namespace
}  // namespace cairn
