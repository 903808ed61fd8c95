#include "api/openai.h"

#include "api/api_fixture.h"
#include "api/json.h"

namespace cairn {
namespace {

const AnswerIdentity kIdentity = {"chatcmpl-1", "m", 1700000000};

using OpenAiTest = ApiTest;

std::vector<std::string> Events(ChatStream* stream) {
  std::string text;
  while (stream->Next(&text)) {
  }
  std::vector<std::string> events;
  const std::string prefix = "data: ";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find("\n\n", begin);
    EXPECT_EQ(text.substr(begin, prefix.size()), prefix);
    events.push_back(text.substr(begin + prefix.size(), end - begin - prefix.size()));
    begin = end + 2;
  }
  return events;
}

TEST_F(OpenAiTest, AStreamComesInTheOrderClientsExpect) {
  auto chat =
      Start(R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":3,"stream":true})");
  ASSERT_TRUE(chat.has_value());
  ChatStream stream(std::move(*chat), kIdentity, true);
  const std::vector<std::string> events = Events(&stream);
  ASSERT_EQ(events.size(), 7u);
  const Json first = Json::parse(events[0]);
  EXPECT_EQ(first["object"], "chat.completion.chunk");
  EXPECT_EQ(first["choices"][0]["delta"]["role"], "assistant");
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(Json::parse(events[i])["choices"][0]["delta"]["content"].get<std::string>().size(),
              1u);
  }
  const Json finish = Json::parse(events[4]);
  EXPECT_EQ(finish["choices"][0]["finish_reason"], "length");
  EXPECT_FALSE(finish.contains("timings"));
  const Json usage = Json::parse(events[5]);
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], 3);
  EXPECT_EQ(usage["timings"]["predicted_n"], 3);
  EXPECT_EQ(events[6], "[DONE]");
}

TEST_F(OpenAiTest, TimingsComeWithTheEndWhenUsageIsNotAskedFor) {
  auto chat = Start(R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":1})");
  ASSERT_TRUE(chat.has_value());
  ChatStream stream(std::move(*chat), kIdentity, false);
  const std::vector<std::string> events = Events(&stream);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(Json::parse(events[2]).contains("timings"));
}

TEST_F(OpenAiTest, AWholeAnswerCountsWhatWasReused) {
  const std::string body = R"({"messages":[{"role":"user","content":")" + std::string(300, 'x') +
                           R"("}],"max_tokens":4})";
  const auto never = [] { return false; };
  const Json first = Json::parse(*CollectChat(std::move(*Start(body)), kIdentity, never));
  const Json second = Json::parse(*CollectChat(std::move(*Start(body)), kIdentity, never));
  EXPECT_EQ(first["choices"][0]["message"], second["choices"][0]["message"]);
  EXPECT_EQ(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  const int cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  EXPECT_GT(cached, 0);
  EXPECT_EQ(second["timings"]["cache_n"], cached);
  EXPECT_EQ(second["timings"]["prompt_n"].get<int>() + cached,
            second["usage"]["prompt_tokens"].get<int>());
}

TEST_F(OpenAiTest, AnAnswerNobodyWaitsForEnds) {
  auto chat = Start(R"({"messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(chat.has_value());
  const auto answer = CollectChat(std::move(*chat), kIdentity, [] { return true; });
  ASSERT_TRUE(answer.has_value());
  EXPECT_LT(Json::parse(*answer)["usage"]["completion_tokens"].get<int>(), 4000);
}

TEST_F(OpenAiTest, APromptThatIsTooLongIsToldTheSizes) {
  auto chat =
      Start(R"({"messages":[{"role":"user","content":")" + std::string(5000, 'x') + R"("}]})");
  ASSERT_FALSE(chat.has_value());
  const Json error = Json::parse(ErrorBody(chat.error()))["error"];
  EXPECT_EQ(error["code"], 400);
  EXPECT_EQ(error["type"], "exceed_context_size_error");
  EXPECT_EQ(error["n_ctx"], 4096);
  EXPECT_GT(error["n_prompt_tokens"].get<int>(), 5000);
}

TEST_F(OpenAiTest, ReasoningIsSplitFromTheContent) {
  auto generation = std::make_shared<Generation>();
  for (const char* text : {"let me", " see</thi", "nk>\n\nfor", "ty-two"}) {
    GenerationEvent event;
    event.text = text;
    generation->Push(event);
  }
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  generation->Push(done);
  const auto answer =
      CollectChat({generation, MakeReasoningParser(true)}, kIdentity, [] { return false; });
  const Json message = Json::parse(*answer)["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "let me see");
  EXPECT_EQ(message["content"], "forty-two");
}

TEST_F(OpenAiTest, AnEngineFailureIsAnErrorAndNotAnEmptyAnswer) {
  auto generation = std::make_shared<Generation>();
  GenerationEvent failed;
  failed.kind = GenerationEvent::Kind::kFailed;
  failed.error = {ErrorCode::kInternal, "it broke"};
  generation->Push(failed);
  const auto answer =
      CollectChat({generation, MakeReasoningParser(false)}, kIdentity, [] { return false; });
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().status, 500);
}

}  // namespace
}  // namespace cairn
