// What a request may ask for beside the answer's text: several answers, log-probabilities, the
// prompt's progress, timings.

#include <map>
#include <vector>

#include "api/answer/cost_json.h"
#include "api/answer/logprobs_json.h"
#include "api/json.h"
#include "api/openai/completion.h"
#include "api/openai/openai.h"
#include "testing/api/api_fixture.h"

namespace cairn::answer_choices_test {
namespace {

const AnswerIdentity kIdentity = {"id-1", "fake", 1700000000};

std::string ChatBody(const std::string& fields, size_t letters = 300) {
  return R"({"messages":[{"role":"user","content":")" + std::string(letters, 'x') + R"("}],)" +
         fields + "}";
}

class AnswerChoicesTest : public ApiTest {
 protected:
  Json Chat(const std::string& body) {
    return Json::parse(*CollectChat(std::move(*Start(body)), kIdentity, [] { return false; }));
  }
  std::vector<Json> ChatEvents(const std::string& body) {
    auto request = ParseChatRequest(Body(body), GenerationParams{});
    const AnswerOptions options = request->options;
    ChatStream stream(*service_.Start(std::move(*request), 0), kIdentity, options);
    return EventsOf(&stream);
  }
  StartedCompletion StartText(const std::string& body, CompletionDialect dialect) {
    auto request = ParseCompletion(service_, Body(body), GenerationParams{}, dialect, 0);
    return *StartCompletion(service_, std::move(*request), dialect, kIdentity, 0);
  }
  Json Completion(const std::string& body, CompletionDialect dialect) {
    return Json::parse(*CollectCompletion(StartText(body, dialect), [] { return false; }));
  }
  std::vector<Json> CompletionEvents(const std::string& body, CompletionDialect dialect) {
    CompletionStream stream(StartText(body, dialect));
    return EventsOf(&stream);
  }

  // Without the [DONE].
  template <typename Stream>
  static std::vector<Json> EventsOf(Stream* stream) {
    std::string text;
    while (stream->Next(&text)) {
    }
    std::vector<Json> events;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find("\n\n", begin);
      const std::string data = text.substr(begin + 6, end - begin - 6);
      if (data != "[DONE]") events.push_back(Json::parse(data));
      begin = end + 2;
    }
    return events;
  }
};

TEST_F(AnswerChoicesTest, ChatTellsLogProbabilitiesOfEveryToken) {
  const Json answer = Chat(ChatBody(R"("max_tokens":4,"logprobs":true,"top_logprobs":3)"));
  const Json& content = answer["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 4u);
  std::string text;
  for (const Json& entry : content) {
    text += entry["token"].get<std::string>();
    EXPECT_EQ(entry["bytes"], Json::array({entry["token"].get<std::string>()[0]}));
    EXPECT_LE(entry["logprob"].get<double>(), 0);
    ASSERT_EQ(entry["top_logprobs"].size(), 3u);
    // FakeEngine draws the likeliest.
    EXPECT_EQ(entry["top_logprobs"][0]["id"], entry["id"]);
    EXPECT_EQ(entry["top_logprobs"][0]["logprob"], entry["logprob"]);
  }
  EXPECT_EQ(text, answer["choices"][0]["message"]["content"].get<std::string>());
  EXPECT_FALSE(Chat(ChatBody(R"("max_tokens":1)"))["choices"][0].contains("logprobs"));
  const Json none = Chat(ChatBody(R"("max_tokens":1,"logprobs":true)"));
  EXPECT_TRUE(none["choices"][0]["logprobs"]["content"][0]["top_logprobs"].empty());
}

TEST_F(AnswerChoicesTest, AStreamTellsThemWithTheTextTheyAreOf) {
  const std::string fields = R"("max_tokens":6,"logprobs":true,"top_logprobs":2)";
  Json content = Json::array();
  for (const Json& event : ChatEvents(ChatBody(fields))) {
    const Json& choice = event["choices"][0];
    std::string tokens;
    if (choice.contains("logprobs")) {
      for (const Json& entry : choice["logprobs"]["content"]) {
        tokens += entry["token"].get<std::string>();
        content.push_back(entry);
      }
    }
    const Json text = choice["delta"].value("content", Json(""));
    EXPECT_EQ(tokens, text.is_string() ? text.get<std::string>() : "");
  }
  EXPECT_EQ(content, Chat(ChatBody(fields))["choices"][0]["logprobs"]["content"]);
}

TEST_F(AnswerChoicesTest, CompletionsTellThemInTheOldShape) {
  const std::string body = R"({"prompt":"abc","max_tokens":3,"logprobs":2})";
  const Json answer = Completion(body, CompletionDialect::kOpenAi);
  const Json& logprobs = answer["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), 3u);
  EXPECT_EQ(logprobs["text_offset"], Json::array({0, 1, 2}));
  EXPECT_EQ(logprobs["token_logprobs"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto token = logprobs["tokens"][i].get<std::string>();
    EXPECT_EQ(logprobs["top_logprobs"][i][token], logprobs["token_logprobs"][i]);
    EXPECT_EQ(logprobs["top_logprobs"][i].size(), 2u);
  }
  Json streamed = Json::array();
  for (const Json& event : CompletionEvents(body, CompletionDialect::kOpenAi)) {
    const Json& told = event["choices"][0]["logprobs"];
    if (!told.is_null()) streamed.push_back(told["text_offset"][0]);
  }
  EXPECT_EQ(streamed, Json::array({0, 1, 2}));
}

TEST_F(AnswerChoicesTest, NativeCompletionsTellProbabilitiesWhenAskedForSome) {
  const auto native = CompletionDialect::kNative;
  const Json answer = Completion(R"({"prompt":"abc","n_predict":3,"n_probs":2})", native);
  ASSERT_EQ(answer["completion_probabilities"].size(), 3u);
  EXPECT_EQ(answer["completion_probabilities"][0]["top_logprobs"].size(), 2u);
  EXPECT_FALSE(Completion(R"({"prompt":"abc","n_predict":3,"n_probs":0})", native)
                   .contains("completion_probabilities"));
}

TEST_F(AnswerChoicesTest, TokensThatAreNoCharactersAreToldByTheirBytes) {
  TokenLogprob logprob;
  logprob.sampled = {7, "\xe2\x82", -1e300};
  const Json entry = NativeProbabilitiesJson(std::vector<TokenLogprob>{logprob})[0];
  EXPECT_EQ(entry["bytes"], Json::array({0xe2, 0x82}));
  EXPECT_EQ(entry["logprob"], -9999.0);
  LegacyLogprobs legacy;
  EXPECT_EQ(legacy.Next(std::vector<TokenLogprob>{logprob})["tokens"][0], "bytes:\\xe2\\x82");
  logprob.sampled = {8, "\xac", -1};
  legacy.Next(std::vector<TokenLogprob>{logprob});
  logprob.sampled = {9, "x", -1};
  EXPECT_EQ(legacy.Next(std::vector<TokenLogprob>{logprob})["text_offset"][0], 1);
}

TEST_F(AnswerChoicesTest, SeveralAnswersReadOnePromptAndCountItOnce) {
  const uint64_t before = engine_.decoded_tokens();
  const Json one = Chat(ChatBody(R"("max_tokens":5)", 200));
  const uint64_t for_one = engine_.decoded_tokens() - before;
  const Json answer = Chat(ChatBody(R"("max_tokens":5,"n":3,"cache_prompt":true)", 400));
  ASSERT_EQ(answer["choices"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["message"]["content"].get<std::string>().size(), 5u);
    EXPECT_EQ(answer["choices"][i]["finish_reason"], "length");
  }
  EXPECT_EQ(answer["usage"]["completion_tokens"], 15);
  EXPECT_EQ(answer["usage"]["prompt_tokens"].get<int>(),
            one["usage"]["prompt_tokens"].get<int>() + 200);
  // 200 tokens more, and two more answers of which four tokens each are decoded; what the first
  // prompt left saves some.
  EXPECT_LE(engine_.decoded_tokens() - before - for_one, for_one + 200 + 8);
}

TEST_F(AnswerChoicesTest, AStreamMixesThemByIndexAndEndsOnce) {
  const auto events =
      ChatEvents(ChatBody(R"("max_tokens":5,"n":3,"stream_options":{"include_usage":true})"));
  std::map<size_t, std::string> texts;
  std::map<size_t, int> roles;
  std::map<size_t, int> ends;
  for (const Json& event : events) {
    if (event["choices"].empty()) continue;
    const Json& choice = event["choices"][0];
    const auto index = choice["index"].get<size_t>();
    roles[index] += choice["delta"].contains("role") ? 1 : 0;
    ends[index] += choice["finish_reason"] == "length" ? 1 : 0;
    const Json text = choice["delta"].value("content", Json());
    if (text.is_string()) texts[index] += text.get<std::string>();
  }
  ASSERT_EQ(texts.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(texts[i].size(), 5u);
    EXPECT_EQ(roles[i], 1);
    EXPECT_EQ(ends[i], 1);
  }
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 15);
}

TEST_F(AnswerChoicesTest, CompletionsGiveSeveralToo) {
  const std::string body = R"({"prompt":"abc","max_tokens":2,"n":2})";
  const Json openai = Completion(body, CompletionDialect::kOpenAi);
  ASSERT_EQ(openai["choices"].size(), 2u);
  EXPECT_EQ(openai["choices"][1]["index"], 1);
  EXPECT_EQ(openai["usage"]["completion_tokens"], 4);
  EXPECT_EQ(openai["usage"]["prompt_tokens"], 3);
  const Json native = Completion(body, CompletionDialect::kNative);
  ASSERT_EQ(native.size(), 2u);
  EXPECT_EQ(native[1]["index"], 1);
  size_t ends = 0;
  for (const Json& event : CompletionEvents(body, CompletionDialect::kNative)) {
    ends += event["stop"].get<bool>() ? 1U : 0U;
  }
  EXPECT_EQ(ends, 2u);
}

TEST_F(AnswerChoicesTest, ProgressOfThePromptIsToldInStreamsThatAskForIt) {
  const auto progress_of = [](const std::vector<Json>& events) {
    std::vector<Json> told;
    for (const Json& event : events) {
      if (event.contains("prompt_progress")) told.push_back(event["prompt_progress"]);
    }
    return told;
  };
  EXPECT_TRUE(progress_of(ChatEvents(ChatBody(R"("max_tokens":1)", 1500))).empty());
  const auto chat =
      progress_of(ChatEvents(ChatBody(R"("max_tokens":1,"return_progress":true)", 2000)));
  ASSERT_GT(chat.size(), 2u);
  EXPECT_GT(chat.front()["cache"], 0);
  EXPECT_EQ(chat.front()["processed"], chat.front()["cache"]);
  EXPECT_EQ(chat.back()["processed"], chat.back()["total"]);
  const std::string body = R"({"prompt":")" + std::string(900, 'p') +
                           R"(","n_predict":1,"max_tokens":1,"return_progress":true})";
  for (const auto dialect : {CompletionDialect::kNative, CompletionDialect::kOpenAi}) {
    const auto told = progress_of(CompletionEvents(body, dialect));
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back()["processed"], 900);
  }
}

TEST_F(AnswerChoicesTest, TimingsComeWithEveryChunkThatAsksForThem) {
  size_t timed = 0;
  for (const Json& event : ChatEvents(ChatBody(R"("max_tokens":4,"timings_per_token":true)"))) {
    if (!event.contains("timings") || !event["choices"][0]["delta"].contains("content")) continue;
    EXPECT_EQ(event["timings"]["predicted_n"], ++timed);
  }
  EXPECT_EQ(timed, 4u);
}

TEST_F(AnswerChoicesTest, TimingsComeWithTheProgressToo) {
  const std::string fields = R"("max_tokens":1,"return_progress":true,"timings_per_token":true)";
  size_t timed = 0;
  for (const Json& event : ChatEvents(ChatBody(fields, 2000))) {
    if (!event.contains("prompt_progress")) continue;
    const Json& timings = event["timings"];
    const Json& progress = event["prompt_progress"];
    EXPECT_EQ(timings["cache_n"], progress["cache"]);
    EXPECT_EQ(timings["prompt_n"].get<int>() + progress["cache"].get<int>(), progress["processed"]);
    EXPECT_EQ(timings["prompt_ms"] == 0, progress["processed"] == progress["cache"]);
    ++timed;
  }
  EXPECT_GT(timed, 1u);
  const std::string body = R"({"prompt":")" + std::string(900, 'p') + "\"," + fields + "}";
  const auto completion = CompletionEvents(body, CompletionDialect::kOpenAi);
  ASSERT_TRUE(completion.front().contains("prompt_progress"));
  EXPECT_TRUE(completion.front().contains("timings"));
}

TEST_F(AnswerChoicesTest, OneTokenAloneHasNoRate) {
  const Json one = Chat(ChatBody(R"("max_tokens":1)"))["timings"];
  EXPECT_EQ(one["predicted_n"], 1);
  EXPECT_EQ(one["predicted_per_second"], 0);
  EXPECT_EQ(one["predicted_per_token_ms"], 0);
}

TEST_F(AnswerChoicesTest, ARateIsOfTheTokensAfterTheFirst) {
  GenerationCost cost;
  cost.generated_tokens = 5;
  cost.generated_ms = 2;
  EXPECT_DOUBLE_EQ(TimingsJson(cost)["predicted_per_second"].get<double>(), 2000);
  EXPECT_DOUBLE_EQ(TimingsJson(cost)["predicted_per_token_ms"].get<double>(), 0.5);
}

TEST_F(AnswerChoicesTest, AVerboseAnswerHasThePromptThatTheModelRead) {
  const std::string body = ChatBody(R"("max_tokens":1,"verbose":true)", 5);
  const std::string prompt = *service_.Render(*ParseConversation(Body(body)));
  EXPECT_EQ(Chat(body)["__verbose"]["prompt"], prompt);
  EXPECT_EQ(Chat(body)["__verbose"]["generation_settings"]["n_predict"], 1);
  EXPECT_EQ(ChatEvents(body).back()["__verbose"]["prompt"], prompt);
  EXPECT_FALSE(Chat(ChatBody(R"("max_tokens":1,"verbose":2)")).contains("__verbose"));
  const Json text =
      Completion(R"({"prompt":"abc","max_tokens":2,"verbose":true})", CompletionDialect::kOpenAi);
  EXPECT_EQ(text["__verbose"]["prompt"], "abc");
  EXPECT_EQ(text["__verbose"]["content"], text["choices"][0]["text"]);
}

TEST_F(AnswerChoicesTest, ASlotThatIsNotThereIsABadRequest) {
  const auto refused = Start(ChatBody(R"("id_slot":7)"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_EQ(Completion(R"({"prompt":"abc","n_predict":1,"id_slot":0})",
                       CompletionDialect::kNative)["id_slot"],
            0);
}

}  // namespace
}  // namespace cairn::answer_choices_test
