// Completions of several prompts in one request, and of prompts that are scored.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/openai/completion.h"
#include "testing/api/api_fixture.h"

namespace cairn::several_prompts_test {
namespace {

const AnswerIdentity kIdentity = {"cmpl-1", "fake", 1700000000};
constexpr auto kOpenAi = CompletionDialect::kOpenAi;
constexpr auto kNative = CompletionDialect::kNative;

class SeveralPromptsTest : public ApiTest {
 protected:
  ApiResult<StartedCompletion> Ask(const std::string& body, CompletionDialect dialect) {
    auto request = ParseCompletion(service_, Body(body), GenerationParams{}, dialect, 0);
    if (!request) return tl::unexpected(request.error());
    return StartCompletion(service_, std::move(*request), dialect, kIdentity, 0);
  }
  Json Answer(const std::string& body, CompletionDialect dialect = kOpenAi) {
    const auto started = Ask(body, dialect);
    if (!started) return {{"error", started.error().message}};
    return Json::parse(*CollectCompletion(*started, [] { return false; }));
  }
  std::vector<Json> Events(const std::string& body, CompletionDialect dialect = kOpenAi) {
    CompletionStream stream(*Ask(body, dialect));
    std::string all;
    while (stream.Next(&all)) {
    }
    std::vector<Json> events;
    for (size_t at = 0; at < all.size();) {
      const size_t end = all.find("\n\n", at);
      const std::string data = all.substr(at + 6, end - at - 6);
      if (data != "[DONE]") events.push_back(Json::parse(data));
      at = end + 2;
    }
    return events;
  }
  // The text of each choice.
  static std::vector<std::string> TextsOf(const Json& answer) {
    std::vector<std::string> texts;
    for (const Json& choice : answer["choices"]) texts.push_back(choice["text"].get<std::string>());
    return texts;
  }
};

TEST_F(SeveralPromptsTest, EachGetsAChoiceInTheOrderOfTheList) {
  const Json answer = Answer(R"({"prompt":["abc","xy",[97,98],["a",99]],"max_tokens":4})");
  ASSERT_EQ(answer["choices"].size(), 4u) << answer.dump();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(answer["choices"][i]["index"], i);
  const auto alone = [&](const std::string& prompt) {
    return TextsOf(Answer(R"({"max_tokens":4,"prompt":)" + prompt + "}")).at(0);
  };
  EXPECT_EQ(TextsOf(answer), (std::vector<std::string>{alone("\"abc\""), alone("\"xy\""),
                                                       alone("[97,98]"), alone("[97,99]")}));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3 + 2 + 2 + 2);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 16);
}

TEST_F(SeveralPromptsTest, NativeAnswersWithAList) {
  const Json list = Answer(R"({"prompt":["abc","xy"],"n_predict":2})", kNative);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["index"], 0);
  EXPECT_EQ(list[1]["index"], 1);
  EXPECT_EQ(list[0]["prompt"], "abc");
  EXPECT_EQ(list[1]["prompt"], "xy");
  EXPECT_EQ(list[1]["tokens_evaluated"], 2);
}

TEST_F(SeveralPromptsTest, AnswersToOnePromptStandTogether) {
  const Json answer = Answer(R"({"prompt":["abc","xy"],"max_tokens":2,"n":2,"echo":true})");
  ASSERT_EQ(answer["choices"].size(), 4u);
  const auto texts = TextsOf(answer);
  EXPECT_TRUE(texts[0].starts_with("abc") && texts[1].starts_with("abc"));
  EXPECT_TRUE(texts[2].starts_with("xy") && texts[3].starts_with("xy"));
  // A prompt counts once, however many answers it gets.
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
}

TEST_F(SeveralPromptsTest, TheBestOfSeveralAnswersToEachAreReturned) {
  const Json answer = Answer(R"({"prompt":["abc","xy"],"max_tokens":2,"best_of":3,"n":2})");
  ASSERT_EQ(answer["choices"].size(), 4u) << answer.dump();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(answer["choices"][i]["index"], i);
  EXPECT_TRUE(answer["choices"][0]["logprobs"].is_null());
  const auto two = TextsOf(Answer(R"({"prompt":["abc","xy"],"max_tokens":2,"n":2})"));
  EXPECT_EQ(TextsOf(answer), two);  // FakeEngine gives equal answers
  // All answers were generated.
  EXPECT_EQ(answer["usage"]["completion_tokens"], 2 * 3 * 2);
  EXPECT_EQ(Ask(R"({"prompt":"a","best_of":2,"stream":true})", kOpenAi).error().field, "best_of");
  EXPECT_EQ(Ask(R"({"prompt":"a","best_of":2,"n":3})", kOpenAi).error().field, "best_of");
  EXPECT_EQ(Ask(R"({"prompt":"a","best_of":2})", kNative).error().field, "best_of");
}

TEST(KeepHighest, PrefersTheEarlierOfEquals) {
  EXPECT_EQ(KeepHighest({-2, -1, -3, -1}, 2), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(KeepHighest({-1, -1, -1}, 1), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(KeepHighest({-1}, 4), std::vector<bool>{true});
}

TEST_F(SeveralPromptsTest, StreamsSayWhichChoiceATextBelongsTo) {
  const std::string fields = R"("prompt":["abc","xy","q"],"max_tokens":3)";
  const auto whole = TextsOf(Answer("{" + fields + "}"));
  std::map<size_t, std::string> texts;
  std::map<size_t, std::string> ends;
  for (const Json& event :
       Events("{" + fields + R"(,"stream":true,"stream_options":{"include_usage":true}})")) {
    for (const Json& choice : event["choices"]) {
      const size_t index = choice["index"].get<size_t>();
      texts[index] += choice["text"].get<std::string>();
      if (!choice["finish_reason"].is_null())
        ends[index] = choice["finish_reason"].get<std::string>();
    }
    if (event["choices"].empty()) EXPECT_EQ(event["usage"]["completion_tokens"], 9);
  }
  ASSERT_EQ(texts.size(), 3u);
  for (const auto& [index, text] : texts) EXPECT_EQ(text, whole.at(index));
  EXPECT_EQ(ends.size(), 3u);
}

TEST_F(SeveralPromptsTest, ThereMayBeMoreThanTheQueueHolds) {
  std::string prompts;
  for (int i = 0; i < 700; ++i) prompts += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\"";
  const Json answer = Answer(R"({"max_tokens":1,"prompt":[)" + prompts + "]}");
  ASSERT_EQ(answer["choices"].size(), 700u);
  for (const Json& choice : answer["choices"]) EXPECT_EQ(choice["finish_reason"], "length");
}

TEST_F(SeveralPromptsTest, AllEndWhenTheRequestIsCancelled) {
  const auto started = Ask(R"({"prompt":["abc","xy","q"],"max_tokens":4000})", kOpenAi);
  ASSERT_TRUE(started.has_value());
  started->generation->Cancel();
  const Json answer = Json::parse(*CollectCompletion(*started, [] { return false; }));
  ASSERT_EQ(answer["choices"].size(), 3u);
  for (const Json& choice : answer["choices"]) EXPECT_EQ(choice["cancelled"], true);
}

TEST_F(SeveralPromptsTest, MistakesNameThePrompt) {
  EXPECT_EQ(Ask(R"({"prompt":["a",[999999]]})", kOpenAi).error().field, "prompt[1]");
  const auto too_long =
      Ask(R"({"prompt":["a",")" + std::string(4096, 'x') + R"("]})", kOpenAi).error();
  EXPECT_EQ(too_long.type, "exceed_context_size_error");
  EXPECT_NE(too_long.message.find("prompt[1]"), std::string::npos) << too_long.message;
  std::string long_ones = "\"" + std::string(4000, 'x') + "\"";
  for (int i = 1; i < 1100; ++i) long_ones += ",\"" + std::string(4000, 'x') + "\"";
  EXPECT_NE(Ask(R"({"prompt":[)" + long_ones + "]}", kOpenAi).error().message.find("4194304"),
            std::string::npos);
  std::string many = "1";
  for (size_t i = 0; i < kPromptsMax; ++i) many += ",[1]";
  EXPECT_EQ(Ask(R"({"prompt":[[1],)" + many.substr(2) + "]}", kOpenAi).error().field, "prompt");
  EXPECT_EQ(
      Ask(R"({"n":128,"prompt":[)" + many.substr(2, 4 * 100 - 1) + "]}", kOpenAi).error().field,
      "n");
}

TEST_F(SeveralPromptsTest, EchoWithLogprobsScoresThePrompt) {
  const Json answer = Answer(R"({"prompt":"abc","max_tokens":1,"echo":true,"logprobs":2})");
  const Json& choice = answer["choices"][0];
  const auto text = choice["text"].get<std::string>();
  ASSERT_EQ(text.size(), 4u) << answer.dump();
  const Json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json::array({"a", "b", "c", text.substr(3)}));
  EXPECT_EQ(logprobs["text_offset"], Json::array({0, 1, 2, 3}));
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_LT(logprobs["token_logprobs"][i].get<double>(), 0) << i;
    // The two likeliest, and the prompt's own where it is neither.
    EXPECT_GE(logprobs["top_logprobs"][i].size(), 2u);
    EXPECT_TRUE(logprobs["top_logprobs"][i].contains(logprobs["tokens"][i].get<std::string>()));
  }
  // The answer's token is the likeliest one.
  EXPECT_EQ(logprobs["token_logprobs"][3],
            Answer(R"({"prompt":"abc","max_tokens":1,"logprobs":2})")["choices"][0]["logprobs"]
                                                                     ["token_logprobs"][0]);
}

TEST_F(SeveralPromptsTest, APromptIsScoredWithoutAnAnswerToo) {
  const Json answer = Answer(R"({"prompt":[[97,98],"q"],"max_tokens":0,"echo":true,"logprobs":1})");
  ASSERT_EQ(answer["choices"].size(), 2u) << answer.dump();
  EXPECT_EQ(TextsOf(answer), (std::vector<std::string>{"ab", "q"}));
  EXPECT_EQ(answer["choices"][0]["logprobs"]["tokens"], Json::array({"a", "b"}));
  EXPECT_EQ(answer["choices"][1]["logprobs"]["tokens"], Json::array({"q"}));
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
}

TEST_F(SeveralPromptsTest, AScoreDoesNotDependOnWhatIsCached) {
  const std::string body = R"({"prompt":"abcabc","max_tokens":0,"echo":true,"logprobs":1})";
  const Json first = Answer(body)["choices"][0]["logprobs"];
  Answer(R"({"prompt":"abcabc","max_tokens":8})");
  EXPECT_EQ(Answer(body)["choices"][0]["logprobs"], first);
}

TEST_F(SeveralPromptsTest, ScoresOfThePromptAreTheFirstEventOfAStream) {
  const std::string fields = R"("prompt":["abc","xy"],"max_tokens":2,"echo":true,"logprobs":1)";
  const Json whole = Answer("{" + fields + "}");
  std::map<size_t, Json> tokens;
  std::map<size_t, std::string> texts;
  for (const Json& event : Events("{" + fields + R"(,"stream":true})")) {
    for (const Json& choice : event["choices"]) {
      const size_t index = choice["index"].get<size_t>();
      texts[index] += choice["text"].get<std::string>();
      if (choice["logprobs"].is_null()) continue;
      if (!tokens.contains(index)) tokens[index] = Json::array();
      for (const Json& token : choice["logprobs"]["tokens"]) tokens[index].push_back(token);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i], whole["choices"][i]["text"].get<std::string>());
    EXPECT_EQ(tokens[i], whole["choices"][i]["logprobs"]["tokens"]);
  }
}

}  // namespace
}  // namespace cairn::several_prompts_test
