#include "soak/answer.h"

#include <gtest/gtest.h>

namespace cairn::soak {
namespace {

std::string Event(const Json& data) {
  return "data: " + data.dump() + "\n\n";
}

Json Entry(const std::string& token, double logprob) {
  return {{"id", 107}, {"token", token}, {"logprob", logprob}};
}

Json ChatPiece(const Json& delta, const Json& finish, const Json& entries) {
  Json choice = {{"index", 0}, {"delta", delta}, {"finish_reason", finish}};
  if (!entries.empty()) choice["logprobs"]["content"] = entries;
  Json event = {{"id", "chatcmpl-1"}};
  event["choices"].push_back(choice);
  return event;
}

std::string ChatEnd() {
  Json end = ChatPiece(Json::object(), "length", Json::array());
  end["timings"] = {{"cache_n", 64}, {"prompt_n", 6}, {"predicted_n", 2}};
  return Event(end) + "data: [DONE]\n\n";
}

std::string ChatPieces() {
  return Event(ChatPiece({{"role", "assistant"}, {"content", nullptr}}, nullptr, {})) +
         Event(ChatPiece({{"reasoning_content", "so"}}, nullptr, {})) +
         Event(ChatPiece({{"content", "k"}}, nullptr, Json::array({Entry("k", -2.25)}))) +
         Event(ChatPiece({{"content", "X"}}, nullptr, Json::array({Entry("X", -0.5)})));
}

Answer WholeChat() {
  Json choice = {{"index", 0}, {"finish_reason", "length"}};
  choice["message"] = {{"role", "assistant"}, {"content", "kX"}, {"reasoning_content", "so"}};
  choice["logprobs"]["content"] = {Entry("k", -2.25), Entry("X", -0.5)};
  Json body = {{"id", "chatcmpl-2"}, {"usage", {{"prompt_tokens", 70}, {"completion_tokens", 2}}}};
  body["choices"].push_back(choice);
  const auto answer = ParseWhole(Api::kChat, body.dump());
  EXPECT_TRUE(answer.has_value());
  return answer.value_or(Answer());
}

Answer Streamed(Api api, const std::string& bytes) {
  AnswerStream stream(api);
  for (const char byte : bytes) stream.Feed(std::string_view(&byte, 1));
  EXPECT_EQ(stream.complaint(), "");
  return stream.answer();
}

TEST(Answer, IsTheSameStreamedAndWhole) {
  const Answer streamed = Streamed(Api::kChat, ChatPieces() + ChatEnd());
  EXPECT_TRUE(streamed.ended);
  EXPECT_EQ(streamed.id, "chatcmpl-1");
  EXPECT_EQ(streamed.cached_tokens, 64u);
  EXPECT_EQ(streamed.choices, WholeChat().choices);
  EXPECT_EQ(Compare(streamed, WholeChat()), "");
}

TEST(Answer, IsTheSameStreamedAndWholeInEveryApi) {
  const std::string text =
      Event({{"choices", {{{"index", 0}, {"text", "k"}, {"finish_reason", nullptr}}}}}) +
      Event({{"choices", {{{"index", 0}, {"text", "X"}, {"finish_reason", "stop"}}}}}) +
      "data: [DONE]\n\n";
  const Json whole_text = {{"choices", {{{"text", "kX"}, {"finish_reason", "stop"}}}}};
  EXPECT_EQ(Compare(Streamed(Api::kText, text), *ParseWhole(Api::kText, whole_text.dump())), "");

  const std::string native =
      Event({{"index", 0}, {"content", "kX"}, {"stop", false}}) + Event({{"index", 0},
                                                                         {"content", ""},
                                                                         {"stop", true},
                                                                         {"stop_type", "limit"},
                                                                         {"stopping_word", ""}});
  const Json whole_native = {{"content", "kX"}, {"stop_type", "limit"}, {"stopping_word", ""}};
  EXPECT_EQ(Compare(Streamed(Api::kNative, native), *ParseWhole(Api::kNative, whole_native.dump())),
            "");

  const std::string messages =
      Event({{"type", "message_start"}, {"message", {{"id", "msg_1"}}}}) +
      Event({{"type", "content_block_delta"}, {"delta", {{"text", "kX"}}}}) +
      Event({{"type", "message_delta"}, {"delta", {{"stop_reason", "end_turn"}}}}) +
      Event({{"type", "message_stop"}});
  Json whole_messages = {{"stop_reason", "end_turn"}};
  whole_messages["content"].push_back({{"type", "text"}, {"text", "kX"}});
  EXPECT_EQ(Compare(Streamed(Api::kMessages, messages),
                    *ParseWhole(Api::kMessages, whole_messages.dump())),
            "");

  Json response = {{"status", "completed"}};
  response["output"].push_back({{"type", "message"}});
  response["output"][0]["content"].push_back({{"type", "output_text"}, {"text", "kX"}});
  const std::string responses =
      Event({{"type", "response.created"}, {"response", {{"id", "resp_1"}}}}) +
      Event({{"type", "response.output_text.delta"}, {"delta", "kX"}}) +
      Event({{"type", "response.completed"}, {"response", response}});
  EXPECT_EQ(
      Compare(Streamed(Api::kResponses, responses), *ParseWhole(Api::kResponses, response.dump())),
      "");
}

TEST(Answer, WithAnotherLetterIsWrong) {
  Answer wrong = WholeChat();
  wrong.choices[0].text = "kY";
  EXPECT_EQ(Compare(wrong, WholeChat()), "answer 0: the text is \"kY\", right is \"kX\"");
}

TEST(Answer, WithAnotherLastDigitOfALogprobIsWrong) {
  Answer wrong = WholeChat();
  wrong.choices[0].logprobs[1]["logprob"] = -0.5000000000000001;
  EXPECT_NE(Compare(wrong, WholeChat()).find("the logprob of token 1"), std::string::npos);
}

TEST(Answer, WithAnotherReasonOfItsEndOrNumberOfTokensIsWrong) {
  Answer wrong = WholeChat();
  wrong.choices[0].finish = "stop";
  EXPECT_NE(Compare(wrong, WholeChat()), "");
  wrong = WholeChat();
  wrong.answer_tokens = 3;
  EXPECT_NE(Compare(wrong, WholeChat()), "");
  wrong = WholeChat();
  wrong.prompt_tokens = 71;
  EXPECT_NE(Compare(wrong, WholeChat()), "");
  wrong = WholeChat();
  wrong.choices.emplace_back();
  EXPECT_NE(Compare(wrong, WholeChat()), "");
}

TEST(Answer, ThatEndsEarlyIsWrong) {
  Answer wrong = WholeChat();
  wrong.choices[0].text = "k";
  EXPECT_NE(Compare(wrong, WholeChat()), "");
}

TEST(Answer, ThatWasCutMustBeABeginning) {
  const Answer cut = Streamed(Api::kChat, ChatPieces());
  EXPECT_FALSE(cut.ended);
  Answer right = WholeChat();
  right.choices[0].text += "more";
  right.choices[0].logprobs.push_back(Entry("m", -1));
  EXPECT_EQ(Compare(cut, right), "");
  right.choices[0].text = "Xk";
  EXPECT_NE(Compare(cut, right), "");
}

TEST(Answer, IsNoneWhereTheBodyIsNotOfTheApi) {
  EXPECT_FALSE(ParseWhole(Api::kChat, "").has_value());
  EXPECT_FALSE(ParseWhole(Api::kChat, "{}").has_value());
  EXPECT_FALSE(ParseWhole(Api::kMessages, R"({"content":[]})").has_value());
  AnswerStream stream(Api::kChat);
  stream.Feed("data: what\n\n");
  EXPECT_NE(stream.complaint(), "");
}

TEST(Answer, StreamThatDoesNotAddUpIsToldOf) {
  AnswerStream stream(Api::kResponses);
  stream.Feed(Event({{"type", "response.output_text.delta"}, {"delta", "k"}}));
  stream.Feed(Event({{"type", "response.completed"}, {"response", {{"status", "completed"}}}}));
  EXPECT_NE(stream.complaint(), "");
}

}  // namespace
}  // namespace cairn::soak
