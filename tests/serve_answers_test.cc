// Parts of the program's answers besides their text, over HTTP, on a synthetic hybrid model:
// several choices, log-probabilities, embeddings.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "served.h"

namespace cairn {
namespace {

class ServeAnswersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerProcessOptions options;
    // One slot: answers are generated one after the other, so none is affected by another.
    options.argv = test::ServeCommand({"--cache-disk", "0", "-c", "2048", "--parallel", "1",
                                       "--top-k", "0", "--temp", "1", "--embeddings"});
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = server->release();
  }
  static void TearDownTestSuite() {
    if (server_ == nullptr) return;
    EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
    delete server_;
    server_ = nullptr;
  }

  static Json Post(const std::string& path, const Json& body) {
    const auto reply = HttpClient(server_->url()).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << reply->body;
    return Json::parse(reply->body);
  }
  static Json Complete(Json body) {
    body["prompt"] = std::string(300, 'p') + "once";
    body["max_tokens"] = 12;
    body["ignore_eos"] = true;
    return Post("/v1/completions", body);
  }

  static ServerProcess* server_;
};

ServerProcess* ServeAnswersTest::server_ = nullptr;

TEST_F(ServeAnswersTest, EachOfSeveralIsWhatItsSeedAloneGives) {
  const Json several = Complete({{"n", 3}, {"seed", 40}});
  ASSERT_EQ(several["choices"].size(), 3u);
  EXPECT_EQ(several["usage"]["completion_tokens"], 36);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(several["choices"][i]["text"], Complete({{"seed", 40 + i}})["choices"][0]["text"]);
  }
  EXPECT_NE(several["choices"][0]["text"], several["choices"][1]["text"]);
}

TEST_F(ServeAnswersTest, ProbabilitiesOfAllTokensAddUpToOne) {
  const Json body = {{"prompt", "once"}, {"n_predict", 3}, {"n_probs", 1000}, {"temperature", 0}};
  const Json answer = Post("/completion", body);
  ASSERT_EQ(answer["completion_probabilities"].size(), 3u);
  for (const Json& entry : answer["completion_probabilities"]) {
    double sum = 0;
    for (const Json& top : entry["top_logprobs"]) sum += std::exp(top["logprob"].get<double>());
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(entry["top_logprobs"][0]["id"], entry["id"]);
  }
}

TEST_F(ServeAnswersTest, ProbabilitiesAreTheModelsWhateverSamplingDoes) {
  const Json greedy = Complete({{"temperature", 0}, {"logprobs", 1}})["choices"][0]["logprobs"];
  const Json body = {{"temperature", 0}, {"logprobs", 1}, {"presence_penalty", 1.5}, {"top_k", 1}};
  const Json shaped = Complete(body)["choices"][0]["logprobs"];
  EXPECT_EQ(greedy["token_logprobs"][0], shaped["token_logprobs"][0]);
}

TEST_F(ServeAnswersTest, EmbeddingsOfTheSameTextAreTheSame) {
  const auto vectors = [](const Json& input) {
    std::vector<std::vector<double>> list;
    const Json answer = Post("/v1/embeddings", {{"input", input}});
    for (const Json& one : answer["data"]) {
      list.push_back(one["embedding"].get<std::vector<double>>());
    }
    return list;
  };
  const auto together = vectors({"a text", "another one", "a text"});
  ASSERT_EQ(together.size(), 3u);
  EXPECT_EQ(together[0], together[2]);
  EXPECT_NE(together[0], together[1]);
  EXPECT_EQ(vectors("a text")[0], together[0]);
  double sum = 0;
  for (const double number : together[1]) sum += number * number;
  EXPECT_NEAR(sum, 1, 1e-5);
}

}  // namespace
}  // namespace cairn
