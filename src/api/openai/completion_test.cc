#include "api/openai/completion.h"

#include <vector>

#include "api/admin/metrics.h"
#include "api/llama_server/native.h"
#include "sched/scheduler.h"
#include "testing/api/api_fixture.h"

namespace cairn::completion_test {
namespace {

const AnswerIdentity kIdentity = {"cmpl-1", "fake", 1700000000};

class CompletionTest : public ApiTest {
 protected:
  ApiResult<StartedCompletion> Ask(const std::string& body, CompletionDialect dialect) {
    auto request = ParseCompletion(service_, Body(body), GenerationParams{}, dialect, 0);
    if (!request) return tl::unexpected(request.error());
    return StartCompletion(service_, std::move(*request), dialect, kIdentity, 0);
  }
  Json Answer(const std::string& body, CompletionDialect dialect) {
    const auto started = Ask(body, dialect);
    return Json::parse(*CollectCompletion(*started, [] { return false; }));
  }
  std::vector<Json> Events(const std::string& body, CompletionDialect dialect) {
    CompletionStream stream(*Ask(body, dialect));
    std::string all;
    for (bool more = true; more;) {
      std::string chunk;
      more = stream.Next(&chunk);
      all += chunk;
    }
    std::vector<Json> events;
    for (size_t at = 0; at < all.size();) {
      const size_t end = all.find("\n\n", at);
      const std::string data = all.substr(at + 6, end - at - 6);
      events.push_back(data == "[DONE]" ? Json("DONE") : Json::parse(data));
      at = end + 2;
    }
    return events;
  }
};

TEST_F(CompletionTest, OpenAiAnswersWithTextAndUsage) {
  const Json answer = Answer(R"({"prompt":"abc","max_tokens":4})", CompletionDialect::kOpenAi);
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"].get<std::string>().size(), 4u);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
}

TEST_F(CompletionTest, OpenAiStopsAfterSixteenTokensUnlessToldOtherwise) {
  const Json answer = Answer(R"({"prompt":"abc"})", CompletionDialect::kOpenAi);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 16);
}

TEST_F(CompletionTest, AnAnswerThatIsCancelledSaysSo) {
  const auto cancelled = [&](CompletionDialect dialect) {
    const auto started = Ask(R"({"prompt":"abc","max_tokens":4000})", dialect);
    started->generation->Cancel();
    return Json::parse(*CollectCompletion(*started, [] { return false; }));
  };
  const Json choice = cancelled(CompletionDialect::kOpenAi)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["cancelled"], true);
  EXPECT_EQ(cancelled(CompletionDialect::kNative)["stop_type"], "none");
  auto started = Ask(R"({"prompt":"abc","max_tokens":4000})", CompletionDialect::kOpenAi);
  started->generation->Cancel();
  CompletionStream stream(*std::move(started));
  std::string events;
  while (stream.Next(&events)) {
  }
  EXPECT_NE(events.find(R"("finish_reason":"length","cancelled":true)"), std::string::npos);
}

TEST_F(CompletionTest, EchoPutsThePromptBeforeTheAnswer) {
  const Json answer =
      Answer(R"({"prompt":"abc","max_tokens":2,"echo":true})", CompletionDialect::kOpenAi);
  EXPECT_TRUE(answer["choices"][0]["text"].get<std::string>().starts_with("abc"));
}

TEST_F(CompletionTest, TextsAndTokensGiveTheSamePrompt) {
  const auto native = CompletionDialect::kNative;
  const Json text = Answer(R"({"prompt":"ab","n_predict":4})", native);
  EXPECT_EQ(Answer(R"({"prompt":[97,98],"n_predict":4})", native)["content"], text["content"]);
  EXPECT_EQ(Answer(R"({"prompt":["a",98],"n_predict":4})", native)["content"], text["content"]);
}

TEST_F(CompletionTest, NativeSaysWhatEndedTheAnswerAndWhatItCost) {
  const Json answer = Answer(R"({"prompt":"abc","n_predict":5})", CompletionDialect::kNative);
  EXPECT_EQ(answer["stop_type"], "limit");
  EXPECT_EQ(answer["tokens_evaluated"], 3);
  EXPECT_EQ(answer["tokens_predicted"], 5);
  EXPECT_EQ(answer["timings"]["prompt_n"], 3);
  EXPECT_EQ(answer["prompt"], "abc");
}

TEST_F(CompletionTest, NothingIsAnsweredWhenAPromptIsOnlyToBeRead) {
  const auto native = CompletionDialect::kNative;
  EXPECT_EQ(Answer(R"({"prompt":"abc","n_predict":0})", native)["content"], "");
  EXPECT_EQ(Answer(R"({"prompt":"abc","n_predict":0})", native)["timings"]["prompt_n"], 0);
}

TEST_F(CompletionTest, StreamsEndAsEachDialectEndsThem) {
  const auto openai = Events(
      R"({"prompt":"abc","max_tokens":2,"stream":true,"stream_options":{"include_usage":true}})",
      CompletionDialect::kOpenAi);
  ASSERT_GE(openai.size(), 4u);
  EXPECT_EQ(openai.back(), "DONE");
  EXPECT_EQ(openai[openai.size() - 2]["usage"]["completion_tokens"], 2);
  EXPECT_EQ(openai[openai.size() - 3]["choices"][0]["finish_reason"], "length");
  const auto native =
      Events(R"({"prompt":"abc","n_predict":2,"stream":true})", CompletionDialect::kNative);
  EXPECT_EQ(native.front()["stop"], false);
  EXPECT_EQ(native.back()["stop"], true);
  EXPECT_EQ(native.back()["tokens_predicted"], 2);
}

TEST_F(CompletionTest, PromptsThatAreNoneAreRefusedByName) {
  for (const char* body : {R"({})", R"({"prompt":""})", R"({"prompt":[]})", R"({"prompt":7.5})",
                           R"({"prompt":[999999]})", R"({"prompt":["a",""]})",
                           R"({"prompt":[[1],[]]})", R"({"prompt":{"a":1}})"}) {
    const auto started = Ask(body, CompletionDialect::kNative);
    ASSERT_FALSE(started.has_value()) << body;
    EXPECT_EQ(started.error().status, 400) << body;
    EXPECT_EQ(started.error().field, "prompt") << body;
  }
}

// The sampler that the engine was asked for last.
class NotingEngine final : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;
  std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) override {
    biases_ = params.logit_bias;
    return FakeEngine::MakeSampler(params);
  }
  const std::vector<std::pair<Token, float>>& biases() const { return biases_; }

 private:
  std::vector<std::pair<Token, float>> biases_;
};

TEST(CompletionBias, OfATextIsThatOfEachOfItsTokens) {
  SteadyClock clock;
  NotingEngine engine{FakeEngineOptions{}};
  CheckpointCache cache(CacheOptions{}, *MakePlacement("none"), *MakeEviction("lru"),
                        MakeRamStore());
  Scheduler scheduler(&engine, &cache, &clock, {});
  const auto chat_template = *ChatTemplate::Parse(std::string(*BuiltinTemplate("qwen")), "", "");
  const ChatService service(&engine, chat_template.get(), &scheduler);
  auto request = ParseCompletion(
      service, Json::parse(R"({"prompt":"x","n_predict":1,"logit_bias":[["ab",-1],[7,2]]})"),
      GenerationParams{}, CompletionDialect::kNative, 0);
  const auto started =
      StartCompletion(service, std::move(*request), CompletionDialect::kNative, kIdentity, 0);
  ASSERT_TRUE(started.has_value());
  while (scheduler.Step()) {
  }
  EXPECT_EQ(engine.biases(),
            (std::vector<std::pair<Token, float>>{{7, 2.0F}, {'a', -1.0F}, {'b', -1.0F}}));
}

TEST_F(CompletionTest, AnIgnoredEndIsNeverSampledAndShownSo) {
  Json settings = Answer(R"({"prompt":"x","n_predict":1,"ignore_eos":true,"logit_bias":[[7,2]]})",
                         CompletionDialect::kNative)["generation_settings"];
  EXPECT_EQ(settings["ignore_eos"], true);
  Json expected = Json::array({{{"token", 7}, {"bias", 2.0}}});
  for (Token token = 0; token < static_cast<Token>(engine_.info().vocab_size); ++token) {
    if (!engine_.IsEndOfGeneration(token)) continue;
    expected.push_back({{"token", token}, {"bias", nullptr}});
  }
  EXPECT_GT(expected.size(), 1u);
  EXPECT_EQ(settings["logit_bias"], expected);
  settings =
      Answer(R"({"prompt":"x","n_predict":1})", CompletionDialect::kNative)["generation_settings"];
  EXPECT_TRUE(settings["logit_bias"].empty());
  // A grammar's end is the answer's: nothing else may follow.
  settings = Answer(R"({"prompt":"x","n_predict":1,"ignore_eos":true,"grammar":"root ::= \"x\""})",
                    CompletionDialect::kNative)["generation_settings"];
  EXPECT_TRUE(settings["logit_bias"].empty());
}

TEST_F(CompletionTest, TheAnswerNamesTheBuild) {
  EXPECT_FALSE(
      Answer(R"({"prompt":"abc"})", CompletionDialect::kOpenAi).contains("system_fingerprint"));
  auto started = Ask(R"({"prompt":"abc"})", CompletionDialect::kOpenAi);
  started->identity.fingerprint = "b1-cairn";
  EXPECT_EQ(Json::parse(*CollectCompletion(*started, [] { return false; }))["system_fingerprint"],
            "b1-cairn");
}

TEST_F(CompletionTest, NativeSaysTheIdsOfItsTokensWhenAskedAndInStreamsAlways) {
  const auto native = CompletionDialect::kNative;
  const Json whole = Answer(R"({"prompt":"abc","n_predict":3,"return_tokens":true})", native);
  const auto text = whole["content"].get<std::string>();
  ASSERT_EQ(text.size(), 3u);
  EXPECT_EQ(whole["tokens"], Json::array({text[0], text[1], text[2]}));
  EXPECT_EQ(Answer(R"({"prompt":"abc","n_predict":3})", native)["tokens"], Json::array());
  Json streamed = Json::array();
  for (const Json& event : Events(R"({"prompt":"abc","n_predict":3,"stream":true})", native)) {
    for (const Json& token : event["tokens"]) streamed.push_back(token);
  }
  EXPECT_EQ(streamed, whole["tokens"]);
}

TEST_F(CompletionTest, NativeTellsTheProbabilitiesThatWereSampledFrom) {
  const std::string fields = R"("prompt":"abc","n_predict":2,"n_probs":2,"temperature":0.5)";
  const Json sampled = Answer("{" + fields + R"(,"post_sampling_probs":true})",
                              CompletionDialect::kNative)["completion_probabilities"];
  ASSERT_EQ(sampled.size(), 2u);
  EXPECT_NEAR(sampled[0]["prob"].get<double>(), 0.75, 1e-6);
  EXPECT_FALSE(sampled[0].contains("logprob"));
  ASSERT_EQ(sampled[0]["top_probs"].size(), 2u);
  EXPECT_EQ(sampled[0]["top_probs"][0]["id"], sampled[0]["id"]);
  EXPECT_EQ(sampled[0]["top_probs"][1]["token"], "?");
  const Json own =
      Answer("{" + fields + "}", CompletionDialect::kNative)["completion_probabilities"];
  EXPECT_EQ(own[0]["id"], sampled[0]["id"]);
  EXPECT_LT(own[0]["logprob"].get<double>(), 0);
}

TEST_F(CompletionTest, NativeSaysWhenTheContextWasFull) {
  const Json answer = Answer(R"({"prompt":")" + std::string(4000, 'x') + R"(","n_predict":500})",
                             CompletionDialect::kNative);
  EXPECT_EQ(answer["stop_type"], "limit");
  EXPECT_EQ(answer["truncated"], true);
}

TEST_F(CompletionTest, SlotsAndMetricsSayWhatWasDone) {
  Answer(R"({"prompt":"abc","n_predict":5})", CompletionDialect::kNative);
  const Json slots = Json::parse(SlotsBody(service_));
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[0]["id"], 0);
  EXPECT_EQ(slots[0]["n_ctx"], 4096);
  const std::string metrics =
      MetricsText({"1.0", "made", service_.stats(), service_.span_stats(), {}});
  EXPECT_NE(metrics.find("\nllamacpp:tokens_predicted_total 5\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\ncairn_prompt_tokens_by_source_total{source=\"computed\"} 3\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::completion_test
