#include "api/llama_server/rerank.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/json.h"
#include "testing/engine/fake_engine.h"

namespace cairn::rerank_test {
namespace {

// A document's score is how many bytes "x" its prompt has.
class CountingReranker final : public Reranker {
 public:
  explicit CountingReranker(RerankLayout layout) : layout_(std::move(layout)) {}
  const RerankLayout& layout() const override { return layout_; }
  size_t tokens_max() const override { return 60; }
  Result<float> Score(TokenSpan tokens) override {
    last_.assign(tokens.begin(), tokens.end());
    return static_cast<float>(std::count(tokens.begin(), tokens.end(), 'x'));
  }
  const Tokens& last() const { return last_; }

 private:
  const RerankLayout layout_;
  Tokens last_;
};

class RerankTest : public ::testing::Test {
 protected:
  ApiResult<std::string> Ask(const std::string& body) {
    return rerank_.Answer("m", body, [] { return false; });
  }
  Json Answer(const std::string& body) {
    const auto answer = Ask(body);
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    return answer ? Json::parse(*answer) : Json();
  }

  FakeEngine engine_{FakeEngineOptions{}};
  CountingReranker reranker_{{"", {1}, {2, 3}, {2}}};
  Rerank rerank_{&engine_, &reranker_};
};

TEST_F(RerankTest, SortsDocumentsByTheirScoresAndNamesTheirPlaces) {
  const Json answer = Answer(R"({"query":"q","documents":["x","axxb",{"text":"xx"}]})");
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "m");
  EXPECT_EQ(answer["results"],
            Json::parse(R"([{"index":1,"relevance_score":2.0},{"index":2,"relevance_score":2.0},
                            {"index":0,"relevance_score":1.0}])"));
  // Each has the query and the four tokens around it.
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3 * 5 + 1 + 4 + 2);
}

TEST_F(RerankTest, PutsTheModelsTokensAroundQueryAndDocument) {
  Answer(R"({"query":"a","documents":["b"]})");
  EXPECT_EQ(reranker_.last(), (Tokens{1, 'a', 2, 3, 'b', 2}));
}

TEST_F(RerankTest, GivesTheBestAndTheirTextsWhereAsked) {
  const Json answer =
      Answer(R"({"query":"q","documents":["","xx","x"],"top_n":2,"return_documents":true})");
  ASSERT_EQ(answer["results"].size(), 2u);
  EXPECT_EQ(answer["results"][0]["document"]["text"], "xx");
  EXPECT_EQ(answer["results"][1]["index"], 2);
}

TEST_F(RerankTest, AnswersInTheWordsOfTeiWhereARequestHasTexts) {
  const Json answer = Answer(R"({"query":"q","texts":["","x"],"return_text":true})");
  EXPECT_EQ(answer, Json::parse(R"([{"index":1,"score":1.0,"text":"x"},
                                    {"index":0,"score":0.0,"text":""}])"));
}

TEST_F(RerankTest, NamesADocumentThatCannotBeRanked) {
  const auto number = Ask(R"({"query":"q","documents":["a",7]})");
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().status, 400);
  EXPECT_EQ(number.error().field, "documents[1]");
  const auto text = Ask(R"({"query":"q","texts":["a",")" + std::string(70, 'a') + "\"]}");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().status, 400);
  EXPECT_EQ(text.error().field, "texts[1]");
  for (const char* body :
       {R"({"documents":["a"]})", R"({"query":"q"})", R"({"query":"q","documents":[]})",
        R"({"query":7,"documents":["a"]})", R"({"query":"q","documents":["a"],"top_n":-1})"}) {
    const auto refused = Ask(body);
    ASSERT_FALSE(refused.has_value()) << body;
    EXPECT_EQ(refused.error().status, 400) << body;
  }
  std::string many = R"({"query":"q","documents":[""]})";
  for (int i = 0; i < 2048; ++i) many.insert(many.size() - 2, ",\"\"");
  EXPECT_EQ(Ask(many).error().field, "documents");
}

TEST_F(RerankTest, FillsTheModelsTemplateAndKeepsSpecialTextsOfClientsText) {
  CountingReranker reranker({"<|im_start|>{query}={document}<|im_end|>", {}, {}, {}});
  const Rerank rerank(&engine_, &reranker);
  const auto answer = rerank.Answer("m", R"({"query":"{document}","documents":["<|im_end|>"]})",
                                    [] { return false; });
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  Tokens expected = {FakeEngine::kMessageStart};
  for (const char c : std::string("{document}=<|im_end|>")) expected.push_back(c);
  expected.push_back(FakeEngine::kMessageEnd);
  EXPECT_EQ(reranker.last(), expected);
}

TEST_F(RerankTest, EndsWhenNobodyWaits) {
  EXPECT_FALSE(
      rerank_.Answer("m", R"({"query":"q","documents":["a"]})", [] { return true; }).has_value());
}

TEST(RerankBody, NamesTheFlagWithoutAReranker) {
  const auto refused = RerankBody(nullptr, "m", "{}", [] { return false; });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 501);
  EXPECT_NE(refused.error().message.find("--reranking"), std::string::npos);
}

}  // namespace
}  // namespace cairn::rerank_test
