#include "api/llama_server/infill.h"

#include <algorithm>

#include "api/openai/completion.h"
#include "testing/api/api_fixture.h"

namespace cairn::infill_test {
namespace {

constexpr InfillTokens kTokens = {1, 2, 3, 4, 5};

InfillOptions Options() {
  return {.tokens = kTokens, .batch_tokens = 400, .suffix_first = false};
}

void Append(const std::string& text, Tokens* tokens) {
  for (const char c : text) tokens->push_back(c);
}

class InfillTest : public ApiTest {
 protected:
  ApiResult<CompletionRequest> Parse(const Json& body, const InfillOptions& options = Options()) {
    return ParseInfill(service_, body, GenerationParams{}, options);
  }
  Json Answer(const Json& body) {
    auto request = Parse(body);
    EXPECT_TRUE(request.has_value()) << request.error().message;
    const auto started = StartCompletion(service_, std::move(*request), CompletionDialect::kNative,
                                         {"cmpl-1", "fake", 1700000000}, 0);
    EXPECT_TRUE(started.has_value());
    return Json::parse(*CollectCompletion(*started, [] { return false; }));
  }
};

// What llama.vscode sends.
Json Request(const std::string& prefix, const std::string& suffix, Json extra) {
  return {{"input_prefix", prefix},
          {"input_suffix", suffix},
          {"input_extra", std::move(extra)},
          {"prompt", ""},
          {"n_predict", 8},
          {"top_k", 40},
          {"top_p", 0.99},
          {"stream", false},
          {"n_indent", 4},
          {"samplers", {"top_k", "top_p", "infill"}},
          {"cache_prompt", true},
          {"t_max_prompt_ms", 500},
          {"t_max_predict_ms", 1000}};
}

TEST_F(InfillTest, LaysThePromptOutAsLlamaServerDoes) {
  const auto request =
      Parse({{"input_prefix", "ab"},
             {"input_suffix", "cd"},
             {"prompt", "p"},
             {"input_extra", {{{"filename", "f.c"}, {"text", "one"}}, {{"text", "two"}}}}});
  ASSERT_TRUE(request.has_value()) << request.error().message;
  Tokens expected = {4};
  Append("myproject\n", &expected);
  const size_t first = expected.size();
  expected.push_back(5);
  Append("f.c\none", &expected);
  const size_t second = expected.size();
  expected.push_back(5);
  Append("tmp\ntwo", &expected);
  expected.push_back(5);
  Append("filename\n", &expected);
  const size_t gap = expected.size();
  expected.push_back(1);
  Append("abp", &expected);
  const size_t suffix = expected.size();
  expected.push_back(2);
  Append("cd", &expected);
  expected.push_back(3);
  EXPECT_EQ(request->prompt, expected);
  std::vector<size_t> turns;
  for (const Turn& turn : request->shape.turns) turns.push_back(turn.position);
  EXPECT_EQ(turns, (std::vector<size_t>{first, second, gap, suffix}));
  EXPECT_EQ(request->shape.header_end, gap);
  EXPECT_EQ(request->shape.tokens, expected.size());
}

TEST_F(InfillTest, ShowsTheSuffixFirstWhereAsked) {
  InfillOptions options = Options();
  options.suffix_first = true;
  options.tokens.repository = options.tokens.separator = -1;
  const auto request = Parse({{"input_prefix", "a"},
                              {"input_suffix", "c"},
                              {"input_extra", {{{"filename", "f"}, {"text", "t"}}}}},
                             options);
  ASSERT_TRUE(request.has_value());
  Tokens expected;
  Append("\n\n--- snippet ---\n\nt", &expected);
  Append("\2c\1a\3", &expected);
  EXPECT_EQ(request->prompt, expected);
}

TEST_F(InfillTest, KeepsThePrefixsEndAndTheSuffixsBeginning) {
  const std::string prefix = std::string(500, 'a') + std::string(10, 'b');
  const auto request = Parse(Request(prefix, "cc" + std::string(500, 'd'), Json::array()));
  ASSERT_TRUE(request.has_value());
  const Tokens& prompt = request->prompt;
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), 'b'), 10);
  // 300 of 400 for the prefix; 100, less the two tokens around them, for the suffix.
  const auto gap = prompt.begin() + static_cast<ptrdiff_t>(request->shape.header_end);
  EXPECT_EQ(std::count(gap, prompt.end(), 'a'), 290);
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), 'd'), 96);
}

TEST_F(InfillTest, LeavesOutTheOldestChunksThatDoNotFit) {
  Json extra = Json::array();
  for (const char* letter : {"Q", "R", "S"}) {
    std::string text;
    for (int i = 0; i < 1500; ++i) text += letter;
    extra.push_back({{"filename", "f"}, {"text", text}});
  }
  const auto request = Parse(Request("a", "b", extra));
  ASSERT_TRUE(request.has_value());
  const Tokens& prompt = request->prompt;
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), 'Q'), 0);
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), 'R'), 1500);
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), 'S'), 1500);
  EXPECT_LT(prompt.size() + 8, engine_.context_tokens());
}

TEST_F(InfillTest, ReadsOnlyWhatChangedBehindTheChunks) {
  Json extra = Json::array();
  for (int i = 0; i < 6; ++i) {
    extra.push_back({{"filename", "f" + std::to_string(i)},
                     {"text", std::string(200, static_cast<char>('A' + i))}});
  }
  const Json first = Answer(Request("int f() {\n", "\n}\n", extra));
  const size_t chunks = Parse(Request("", "", extra))->shape.header_end;
  ASSERT_GT(chunks, 1200u);
  // Another file is open: nothing behind the chunks is the same.
  const Json second = Answer(Request("void other() {\n  g(", ");\n}\n", extra));
  const auto cached = second["timings"]["cache_n"].get<size_t>();
  EXPECT_LE(cached, chunks);
  EXPECT_GE(cached, chunks / 64 * 64);
  EXPECT_EQ(second["timings"]["prompt_n"].get<size_t>() + cached,
            second["tokens_evaluated"].get<size_t>());
  // A chunk behind the others: all but the last grid block of these is still there.
  extra.push_back({{"filename", "new"}, {"text", "text"}});
  const Json third = Answer(Request("int f() {\n", "\n}\n", extra));
  EXPECT_GE(third["timings"]["cache_n"].get<size_t>() + 128, chunks);
}

TEST_F(InfillTest, PrefetchesTheCacheWithoutAnAnswer) {
  Json body = Request("", "", {{{"filename", "f"}, {"text", std::string(500, 'A')}}});
  body["n_predict"] = 0;
  const Json warmed = Answer(body);
  EXPECT_EQ(warmed["content"], "");
  EXPECT_EQ(warmed["tokens_predicted"], 0);
  const Json answer = Answer(Request("x", "y", body["input_extra"]));
  EXPECT_GE(answer["timings"]["cache_n"].get<size_t>(), 448u);
  EXPECT_EQ(answer["tokens_predicted"], 8);
}

TEST_F(InfillTest, GivesTheFieldsThatWereAskedForAlone) {
  Json body = Request("a", "b", Json::array());
  body["response_fields"] = {"content", "timings/prompt_n", "truncated", "nothing/there",
                             "model/x"};
  const Json answer = Answer(body);
  EXPECT_EQ(answer.size(), 3u);
  EXPECT_TRUE(answer["content"].is_string());
  EXPECT_TRUE(answer["timings/prompt_n"].is_number());
  EXPECT_EQ(answer["truncated"], false);
}

TEST_F(InfillTest, RefusesWhatItCannotRead) {
  for (const Json& body :
       {Json{{"input_suffix", ""}}, Json{{"input_prefix", ""}},
        Json{{"input_prefix", 7}, {"input_suffix", ""}},
        Json{{"input_prefix", ""}, {"input_suffix", ""}, {"input_extra", "text"}},
        Json{{"input_prefix", ""}, {"input_suffix", ""}, {"response_fields", "content"}},
        Json{{"input_prefix", ""}, {"input_suffix", ""}, {"t_max_predict_ms", "soon"}}}) {
    const auto refused = Parse(body);
    ASSERT_FALSE(refused.has_value()) << body;
    EXPECT_EQ(refused.error().status, 400) << body;
  }
  const auto chunk = Parse({{"input_prefix", ""},
                            {"input_suffix", ""},
                            {"input_extra", {{{"text", "a"}}, {{"filename", "b"}}}}});
  ASSERT_FALSE(chunk.has_value());
  EXPECT_EQ(chunk.error().field, "input_extra[1].text");
}

TEST_F(InfillTest, NamesTheTokensThatTheVocabularyLacks) {
  InfillOptions options = Options();
  options.tokens.middle = -1;
  const auto refused = Parse(Request("a", "b", Json::array()), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 501);
  EXPECT_NE(refused.error().message.find("middle"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("suffix,"), std::string::npos);
}

TEST(LineDeadline, EndsAnAnswerOfSeveralLinesWhenItIsTime) {
  Generation generation;
  LineDeadline deadline(100);
  GenerationEvent event;
  event.text = "a line";
  event.cost.generated_ms = 200;
  deadline.See(&generation, &event);
  EXPECT_FALSE(generation.cancelled());
  event.text = "\n";
  deadline.See(&generation, &event);
  EXPECT_TRUE(generation.cancelled());
  event.kind = GenerationEvent::Kind::kDone;
  event.reason = FinishReason::kCancelled;
  deadline.See(&generation, &event);
  EXPECT_EQ(event.reason, FinishReason::kLength);
}

TEST(LineDeadline, LeavesAnswersAloneThatAreInTimeOrHaveNone) {
  for (const float ms_max : {0.0F, -1.0F, 500.0F}) {
    Generation generation;
    LineDeadline deadline(ms_max);
    GenerationEvent event;
    event.text = "two\nlines";
    event.cost.generated_ms = 200;
    deadline.See(&generation, &event);
    EXPECT_FALSE(generation.cancelled());
    event.kind = GenerationEvent::Kind::kDone;
    event.reason = FinishReason::kCancelled;
    deadline.See(&generation, &event);
    EXPECT_EQ(event.reason, FinishReason::kCancelled);
  }
}

TEST_F(InfillTest, ACompletionWithASuffixFillsTheGap) {
  EXPECT_FALSE(HasSuffix(Body(R"({"prompt":"ab"})")));
  EXPECT_FALSE(HasSuffix(Body(R"({"prompt":"ab","suffix":null})")));
  EXPECT_FALSE(HasSuffix(Body(R"({"prompt":"ab","suffix":""})")));
  const Json body = Body(R"({"prompt":"ab","suffix":"cd","max_tokens":2})");
  ASSERT_TRUE(HasSuffix(body));
  const auto request = ParseSuffixCompletion(service_, body, GenerationParams{}, Options());
  ASSERT_TRUE(request.has_value()) << request.error().message;
  Tokens gap = {1};
  Append("ab", &gap);
  gap.push_back(2);
  Append("cd", &gap);
  gap.push_back(3);
  ASSERT_GE(request->prompt.size(), gap.size());
  EXPECT_TRUE(std::equal(gap.rbegin(), gap.rend(), request->prompt.rbegin()));
  EXPECT_EQ(request->prompt_text, "ab");
  EXPECT_EQ(request->params.tokens_max, 2u);
}

TEST_F(InfillTest, ASuffixNeedsTheTokensAndOneText) {
  const auto refused = [&](const std::string& body, const InfillOptions& options) {
    return ParseSuffixCompletion(service_, Body(body), GenerationParams{}, options).error();
  };
  const ApiError no_tokens = refused(R"({"prompt":"ab","suffix":"cd"})", {});
  EXPECT_EQ(no_tokens.status, 400);
  EXPECT_EQ(no_tokens.field, "suffix");
  EXPECT_NE(no_tokens.message.find("prefix, suffix, middle"), std::string::npos);
  EXPECT_EQ(refused(R"({"prompt":["a","b"],"suffix":"cd"})", Options()).field, "prompt");
  EXPECT_EQ(refused(R"({"prompt":"a","suffix":7})", Options()).field, "suffix");
}

}  // namespace
}  // namespace cairn::infill_test
