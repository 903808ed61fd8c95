#include "api/ollama/ollama_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/api/api_fixture.h"
#include "testing/api/played_answer.h"

namespace cairn::ollama_answer_test {
namespace {

OllamaForm ChatForm() {
  return {.is_chat = true, .model = "m:latest", .id = "a1"};
}

std::string AllLines(StartedChat chat, OllamaForm form = ChatForm()) {
  OllamaStream stream(std::move(chat), std::move(form));
  std::string text;
  while (stream.Next(&text)) {
  }
  return text;
}

std::vector<Json> Lines(StartedChat chat, OllamaForm form = ChatForm()) {
  std::vector<Json> lines;
  const std::string text = AllLines(std::move(chat), std::move(form));
  EXPECT_TRUE(text.ends_with('\n'));
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

Json Collect(StartedChat chat, const OllamaForm& form = ChatForm()) {
  const auto body = CollectOllama(std::move(chat), form, [] { return false; });
  EXPECT_TRUE(body.has_value());
  return body ? Json::parse(*body) : Json();
}

class OllamaAnswerTest : public ApiTest {
 protected:
  ApiResult<StartedChat> StartGenerate(const std::string& fields,
                                       const InfillOptions& infill = {}) {
    auto request = ParseOllamaGenerate(Body(R"({"model":"m",)" + fields + "}"), {});
    if (!request) return tl::unexpected(request.error());
    form_ = FormOf(*request, false);
    auto chat = StartOllama(service_, *std::move(request), infill, 0);
    if (chat) NotePrompt(*chat, &form_);
    return chat;
  }
  Json Generate(const std::string& fields) {
    auto chat = StartGenerate(fields);
    EXPECT_TRUE(chat.has_value()) << (chat ? "" : chat.error().message);
    return chat ? Collect(*std::move(chat), form_) : Json();
  }

  OllamaForm form_;
};

TEST_F(OllamaAnswerTest, AStreamHasALineForEachPieceAndWholeCalls) {
  const std::vector<Json> lines = Lines(Play(ThoughtTextAndTwoCalls()));
  ASSERT_EQ(lines.size(), 7u);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["model"], "m:latest");
    EXPECT_EQ(lines[i]["message"]["role"], "assistant");
    EXPECT_EQ(lines[i]["done"], i + 1 == lines.size());
    EXPECT_TRUE(lines[i]["created_at"].text().ends_with('Z'));
  }
  EXPECT_EQ(lines[0]["message"]["thinking"], "Let me ");
  EXPECT_EQ(lines[0]["message"]["content"], "");
  EXPECT_EQ(lines[3]["message"]["content"], "\xE2\x82\xAC up.");
  const Json& call = lines[4]["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"]["name"], "weather");
  EXPECT_EQ(call["function"]["arguments"]["city"], "Rome");
  EXPECT_EQ(call["id"], "call_a1-0");
  EXPECT_EQ(lines[5]["message"]["tool_calls"][0]["function"]["index"], 1);
}

TEST_F(OllamaAnswerTest, TheLastLineHasTheFiguresInNanoseconds) {
  const Json end = Lines(Play({})).back();
  EXPECT_EQ(end["done_reason"], "stop");
  EXPECT_EQ(end["prompt_eval_count"], 1000);
  EXPECT_EQ(end["eval_count"], 25);
  for (const char* name :
       {"total_duration", "load_duration", "prompt_eval_duration", "eval_duration"}) {
    EXPECT_TRUE(end[name].is_number_integer()) << name;
  }
  EXPECT_EQ(end["timings"]["cache_n"], 900);
  EXPECT_EQ(Lines(Play({}, FinishReason::kLength)).back()["done_reason"], "length");
}

TEST_F(OllamaAnswerTest, AWholeAnswerHasTheSameParts) {
  const Json answer = Collect(Play(ThoughtTextAndTwoCalls()));
  EXPECT_EQ(answer["message"]["thinking"], "Let me see.");
  EXPECT_EQ(answer["message"]["content"], "I look \xE2\x82\xAC up.");
  EXPECT_EQ(answer["message"]["tool_calls"].size(), 2u);
  EXPECT_EQ(answer["done"], true);
  EXPECT_EQ(answer["done_reason"], "stop");
}

TEST_F(OllamaAnswerTest, ACallThatWasCutOffIsLeftOut) {
  using Kind = AnswerDelta::Kind;
  const std::vector<AnswerDelta> cut = {{Kind::kCallBegin, "weather", 0},
                                        {Kind::kCallArguments, R"({"city":"Ro)", 0}};
  EXPECT_FALSE(Collect(Play(cut, FinishReason::kLength))["message"].contains("tool_calls"));
  EXPECT_EQ(Lines(Play(cut, FinishReason::kLength)).size(), 1u);
}

TEST_F(OllamaAnswerTest, AFailureInAStreamIsALine) {
  EXPECT_EQ(AllLines(PlayFailure()), "{\"error\":\"it broke\"}\n");
}

// The format has no comments, and clients parse every line.
TEST_F(OllamaAnswerTest, APingIsAPieceWithoutText) {
  const OllamaStream stream(Play({}), ChatForm());
  const Json ping = Json::parse(stream.ping());
  EXPECT_EQ(ping["message"]["content"], "");
  EXPECT_EQ(ping["done"], false);
  EXPECT_TRUE(stream.ping().ends_with('\n'));
}

TEST_F(OllamaAnswerTest, GenerateAnswersWithAResponseAndAContext) {
  const Json first = Generate(R"("prompt":"What is a cairn?","options":{"num_predict":4})");
  EXPECT_EQ(first["response"].text().size(), 4u);
  EXPECT_FALSE(first.contains("message"));
  const Json& context = first["context"];
  EXPECT_EQ(context.size(), first["prompt_eval_count"].get<size_t>() + 4);
  const Json second =
      Generate(R"("prompt":"Why?","options":{"num_predict":2},"context":)" + ToText(context));
  EXPECT_GE(second["timings"]["cache_n"].get<size_t>(), context.size() - 1);
  EXPECT_GT(second["prompt_eval_count"].get<size_t>(), context.size());
  EXPECT_EQ(second["context"].size(), second["prompt_eval_count"].get<size_t>() + 2);
}

TEST_F(OllamaAnswerTest, ARawPromptIsTheTextItself) {
  const Json answer = Generate(R"("prompt":"abc","raw":true,"options":{"num_predict":3})");
  EXPECT_EQ(answer["prompt_eval_count"], 3);
  EXPECT_EQ(answer["response"].text().size(), 3u);
  EXPECT_FALSE(answer.contains("context"));
}

TEST_F(OllamaAnswerTest, ASuffixNeedsTheTokensForIt) {
  const auto refused = StartGenerate(R"("prompt":"int f() {","suffix":"}")");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_TRUE(refused.error().message.starts_with("'suffix' must be absent: this model has no"));
  InfillOptions infill;
  infill.tokens = {1, 2, 3, 4, 5};
  auto chat =
      StartGenerate(R"("prompt":"int f() {","suffix":"}","options":{"num_predict":3})", infill);
  ASSERT_TRUE(chat.has_value()) << chat.error().message;
  EXPECT_EQ(Collect(*std::move(chat), form_)["eval_count"], 3);
}

TEST_F(OllamaAnswerTest, ThinkingIsRefusedWhereTheTemplateHasNoPlaceForIt) {
  const auto plain = ChatTemplate::Parse(
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ", "", "");
  ASSERT_TRUE(plain.has_value());
  const ChatService service(&engine_, plain->get(), &scheduler_);
  auto request = ParseOllamaGenerate(Body(R"({"model":"m","prompt":"x","think":true})"), {});
  const auto refused = StartOllama(service, *std::move(request), {}, 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "'think' must be absent or false: 'm' does not support thinking");
}

TEST_F(OllamaAnswerTest, ContextOfAnotherModelIsRefused) {
  const auto refused = StartGenerate(R"("prompt":"x","context":[99999999])");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "'context' must be tokens of this model");
}

TEST_F(OllamaAnswerTest, ARequestThatAsksNothingIsAnsweredAtOnce) {
  OllamaRequest request;
  request.model = "m";
  const Json load = Json::parse(OllamaEmptyBody(request, true));
  EXPECT_EQ(load["done_reason"], "load");
  EXPECT_EQ(load["done"], true);
  EXPECT_EQ(load["message"]["content"], "");
  request.unloads = true;
  EXPECT_EQ(Json::parse(OllamaEmptyBody(request, false))["done_reason"], "unload");
}

TEST_F(OllamaAnswerTest, LogprobsStandInTheLinesOfTheirTokens) {
  auto chat =
      StartGenerate(R"("prompt":"x","logprobs":true,"top_logprobs":2,"options":{"num_predict":3})");
  ASSERT_TRUE(chat.has_value());
  size_t tokens = 0;
  for (const Json& line : Lines(*std::move(chat), form_)) {
    if (!line.contains("logprobs")) continue;
    for (const Json& token : line["logprobs"]) {
      ++tokens;
      EXPECT_EQ(token["top_logprobs"].size(), 2u);
      EXPECT_TRUE(token["logprob"].is_number());
    }
  }
  EXPECT_EQ(tokens, 3u);
}

}  // namespace
}  // namespace cairn::ollama_answer_test
