// `cairn serve` on encoders: embeddings and reranking without flags, requests that such a model
// cannot answer, and the vectors and scores of llama-server, where there is one, on the same
// models.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/maker/llama_model_maker.h"
#include "served.h"

namespace cairn {
namespace {

std::string WriteEncoder(const std::string& architecture, bool ranks) {
  std::string path = test::OwnPath(architecture + (ranks ? "-rank" : "")) + ".gguf";
  ModelShape shape;
  shape.architecture = architecture;
  shape.width = 64;
  shape.train_context_tokens = 1024;
  shape.ranks = ranks;
  EXPECT_TRUE(WriteModel(*MakeRecipe(shape), path, {"f16", {}}).has_value());
  return path;
}

// The command of Debian's llama-server, in the private prefix or installed. Empty if there is none.
// ggml looks for its kernels where that runs, so both servers compute with those that this test was
// given (scripts/lib/kernels.sh): those of another CPU round otherwise.
test::Flags PeerCommand(const test::Flags& flags) {
  const std::string root = CAIRN_SOURCE_DIR;
  if (!std::filesystem::exists(root + "/.deps/prefix/usr/bin/llama-server") &&
      !std::filesystem::exists("/usr/bin/llama-server")) {
    return {};
  }
  const std::string script = "ROOT='" + root +
                             "'; cd \"$ROOT\"; source scripts/lib/common.sh; "
                             "source scripts/lib/peer.sh; find_peer; "
                             "cd \"${CAIRN_BACKENDS_DIR:-$PEER_CWD}\"; "
                             "exec \"${PEER[@]}\" \"$@\"";
  return test::Join({"bash", "-c", script, "peer"}, flags);
}

double Cosine(const Json& a, const Json& b) {
  double product = 0;
  double of_a = 0;
  double of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i].get<double>();
    const double y = b[i].get<double>();
    product += x * y;
    of_a += x * x;
    of_b += y * y;
  }
  return product / std::sqrt(of_a * of_b);
}

class EncoderServeTest : public test::ServedTest {
 protected:
  ~EncoderServeTest() override {
    peer_.reset();
    server_.reset();
    std::error_code error;
    for (const std::string& path : paths_) std::filesystem::remove(path, error);
  }
  const std::string& Model(const std::string& architecture, bool ranks = false) {
    return paths_.emplace_back(WriteEncoder(architecture, ranks));
  }
  Json Answer(const std::string& path, const Json& body) const {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? Json::parse(reply.body) : Json();
  }
  // Skips the test if there is no peer.
  void ServePeer(const std::string& model, const test::Flags& flags) {
    peer_.reset();
    const int port = 20000 + getpid() % 20000;
    auto command = PeerCommand(
        test::Join({"-m", model, "--port", std::to_string(port), "-t", "1", "-np", "1"}, flags));
    if (command.empty()) GTEST_SKIP() << "there is no llama-server to compare with";
    auto peer = ServerProcess::Start({.argv = std::move(command), .port = port});
    ASSERT_TRUE(peer.has_value()) << peer.error().message;
    peer_ = std::move(*peer);
  }
  Json PeerAnswer(const std::string& path, const Json& body) const {
    const auto reply = HttpClient(peer_->url()).Post(path, body.dump());
    EXPECT_TRUE(reply.has_value() && reply->status == 200) << path;
    return reply && reply->status == 200 ? Json::parse(reply->body) : Json();
  }

  std::vector<std::string> paths_;
  std::unique_ptr<ServerProcess> peer_;
};

const Json& Inputs() {
  static const Json inputs = Json::array(
      {"I believe the meaning of life is", "a pile of stones!", Json::array({2, 20, 30, 3}), "x"});
  return inputs;
}

TEST_F(EncoderServeTest, AnEncoderIsServedForEmbeddingsWithoutAFlag) {
  Serve({}, Model("bert"));
  const Json answer = Answer("/v1/embeddings", {{"input", Inputs()}});
  ASSERT_EQ(answer["data"].size(), Inputs().size());
  const Json native = Answer("/embeddings", {{"content", Inputs()}});
  for (size_t i = 0; i < Inputs().size(); ++i) {
    EXPECT_EQ(answer["data"][i]["embedding"], native[i]["embedding"][0]);
  }
  EXPECT_EQ(Answer("/embedding", {{"content", Inputs()}}), native);
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

TEST_F(EncoderServeTest, VectorsAreThoseOfLlamaServer) {
  for (const char* architecture : {"bert", "nomic-bert", "jina-bert-v2", "modern-bert"}) {
    SCOPED_TRACE(architecture);
    const std::string model = Model(architecture);
    ServePeer(model, {"--embedding", "-c", "1024", "-b", "1024", "-ub", "1024"});
    if (IsSkipped() || HasFatalFailure()) return;
    Serve({"--embedding"}, model);
    for (const char* path : {"/v1/embeddings", "/embeddings"}) {
      const Json ours = Answer(path, {{"input", Inputs()}});
      const Json theirs = PeerAnswer(path, {{"input", Inputs()}});
      const bool native = ours.is_array();
      for (size_t i = 0; i < Inputs().size(); ++i) {
        const Json& a = native ? ours[i]["embedding"][0] : ours["data"][i]["embedding"];
        const Json& b = native ? theirs[i]["embedding"][0] : theirs["data"][i]["embedding"];
        ASSERT_EQ(a.size(), b.size());
        EXPECT_NEAR(Cosine(a, b), 1, 1e-6);
      }
      if (!native) {
        EXPECT_EQ(ours["usage"], theirs["usage"]);
      }
    }
  }
}

TEST_F(EncoderServeTest, ScoresAreThoseOfLlamaServer) {
  const Json body = {{"query", "what is a cairn"},
                     {"documents", {"a fish", "a pile of stones", "a hill in wales"}}};
  for (const char* architecture : {"bert", "jina-bert-v2", "modern-bert"}) {
    SCOPED_TRACE(architecture);
    const std::string model = Model(architecture, /*ranks=*/true);
    Serve({}, model);  // the file says that it ranks
    const Json ours = Answer("/v1/rerank", body);
    ASSERT_EQ(ours["results"].size(), 3u);
    ServePeer(model, {"--reranking", "-c", "1024", "-b", "1024", "-ub", "1024"});
    if (IsSkipped() || HasFatalFailure()) return;
    const Json theirs = PeerAnswer("/v1/rerank", body);
    EXPECT_EQ(ours["usage"], theirs["usage"]);
    for (size_t i = 0; i < 3; ++i) {
      for (const Json& one : theirs["results"]) {
        if (one["index"] != ours["results"][i]["index"]) continue;
        EXPECT_NEAR(one["relevance_score"].get<double>(),
                    ours["results"][i]["relevance_score"].get<double>(), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace cairn
