// `cairn serve` on encoders: embeddings and reranking without flags, and requests that such a model
// cannot answer. encoder_table_test.cc compares what they compute with llama-server.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "encoder_peer.h"

namespace cairn {
namespace {

using EncoderServeTest = test::EncoderPeerTest;

TEST_F(EncoderServeTest, AnEncoderIsServedForEmbeddingsWithoutAFlag) {
  Serve({}, Model("bert"));
  const Json answer = Answer("/v1/embeddings", {{"input", test::EncoderInputs()}});
  ASSERT_EQ(answer["data"].size(), test::EncoderInputs().size());
  const Json native = Answer("/embeddings", {{"content", test::EncoderInputs()}});
  for (size_t i = 0; i < test::EncoderInputs().size(); ++i) {
    EXPECT_EQ(answer["data"][i]["embedding"], native[i]["embedding"][0]);
  }
  EXPECT_EQ(Answer("/embedding", {{"content", test::EncoderInputs()}}), native);
  // [CLS] and [SEP] are tokens too, those of an empty text.
  EXPECT_EQ(Answer("/v1/embeddings", {{"input", ""}})["usage"]["prompt_tokens"], 2);
  for (const char* path :
       {"/health", "/v1/models", "/props", "/slots", "/metrics", "/cairn/cache"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
  }
}

TEST_F(EncoderServeTest, RequestsForAnswersAreRefusedByName) {
  Serve({}, Model("nomic-bert"));
  const Json chat = {{"messages", Json::array({{{"role", "user"}, {"content", "A fish?"}}})},
                     {"max_tokens", 4}};
  const std::vector<std::pair<std::string, Json>> requests = {
      {"/v1/chat/completions", chat},
      {"/v1/messages", chat},
      {"/v1/responses", Json{{"input", "A fish?"}}},
      {"/v1/completions", Json{{"prompt", "A fish"}}},
      {"/completion", Json{{"prompt", "A fish"}}},
  };
  for (const auto& [path, body] : requests) {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 501) << path << ": " << reply.body;
    EXPECT_NE(reply.body.find("writes no answers"), std::string::npos) << path << reply.body;
  }
  for (const char* path : {"/api/chat", "/api/generate"}) {
    Json body = chat;
    body["model"] = Json::parse(Get("/api/tags").body)["models"][0]["name"];
    body["prompt"] = "A fish";
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 400) << path << ": " << reply.body;
    EXPECT_NE(reply.body.find("does not support chat"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(Post("/v1/rerank", {{"query", "a"}, {"documents", {"b"}}}).status, 501);
  Answer("/v1/embeddings", {{"input", "still here"}});
}

TEST_F(EncoderServeTest, ARerankerSaysWhereItIsAsked) {
  Serve({}, Model("bert", /*ranks=*/true));
  const HttpReply reply = Post("/v1/embeddings", {{"input", "a"}});
  EXPECT_EQ(reply.status, 501);
  EXPECT_NE(reply.body.find("/v1/rerank"), std::string::npos) << reply.body;
  Answer("/v1/rerank", {{"query", "a"}, {"documents", {"b"}}});
}

TEST_F(EncoderServeTest, FlagsForAnswersAreRefusedByName) {
  const std::string& model = Model("bert");
  EXPECT_NE(Refusal({"--sleep-idle-seconds", "60"}, model).find("--sleep-idle-seconds"),
            std::string::npos);
  EXPECT_NE(Refusal({"--reranking"}, model).find("classification head"), std::string::npos);
  EXPECT_NE(Refusal({"--pooling", "median"}, model).find("none, mean"), std::string::npos);
}

TEST_F(EncoderServeTest, TextsAboveTheUbatchNeedNoFlag) {
  Serve({"-b", "64", "-ub", "64"}, Model("bert"));
  const std::string text = std::string(200, 'a') + " " + std::string(300, 'b');
  const Json answer = Answer("/v1/embeddings", {{"input", text}});
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 502);
  const HttpReply reply =
      Post("/v1/embeddings", {{"input", Json::array({"a", std::string(2000, 'c')})}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("too large"), std::string::npos) << reply.body;
  EXPECT_NE(reply.body.find("input[1]"), std::string::npos) << reply.body;
}

TEST_F(EncoderServeTest, WithoutPoolingATextHasAVectorForEachToken) {
  Serve({"--pooling", "none"}, Model("bert"));
  const Json native = Answer("/embeddings", {{"input", "a b c"}});
  EXPECT_EQ(native[0]["embedding"].size(), 5u);
  EXPECT_EQ(Post("/v1/embeddings", {{"input", "a b c"}}).status, 400);
}

}  // namespace
}  // namespace cairn
