#include "lab/bench/bench_server.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

TEST(TokensReadIn, AddsWhatWasReadAheadAndLeavesOutReuse) {
  EXPECT_EQ(TokensReadIn("# TYPE cairn_prompt_tokens_by_source_total counter\n"
                         "cairn_prompt_tokens_by_source_total{source=\"live\"} 900\n"
                         "cairn_prompt_tokens_by_source_total{source=\"disk\"} 40\n"
                         "cairn_prompt_tokens_by_source_total{source=\"prefetched\"} 3\n"
                         "cairn_prompt_tokens_by_source_total{source=\"computed\"} 120\n"
                         "cairn_prefetched_tokens_total 3\n"
                         "llamacpp:prompt_tokens_total 7\n"),
            123u);
}

TEST(TokensReadIn, FallsBackOnLlamaServersCounter) {
  EXPECT_EQ(TokensReadIn("llamacpp:prompt_tokens_seconds 5\nllamacpp:prompt_tokens_total 71"), 71u);
  EXPECT_EQ(TokensReadIn("up 1\nllamacpp:prompt_tokens_total many\n"), std::nullopt);
  EXPECT_EQ(TokensReadIn(""), std::nullopt);
}

class BenchServerTest : public HttpServerTest {
 protected:
  void Serve(const std::string& method, const std::string& path, const std::string& body) {
    server_->Handle(method, path, [body](const HttpRequest&) { return Text(body); });
  }
  BenchServer Server() const {
    return BenchServer("http://127.0.0.1:" + std::to_string(server_->port()));
  }
};

TEST_F(BenchServerTest, TakesWhatTheServerSaysOfItself) {
  MakeServer();
  Serve("GET", "/v1/models",
        R"({"data":[{"id":"/models/small.gguf","meta":{"architecture":"qwen35"}}]})");
  Serve("GET", "/props",
        R"({"build_info":"b1.2-cairn","cairn":{"memory_class":"hybrid","grid_tokens":64}})");
  Serve("POST", "/tokenize", R"({"tokens":[1,2,3]})");
  Serve("POST", "/apply-template", R"({"prompt":"<user>"})");
  StartServer();
  const auto figures = Server().Describe();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->model, "small.gguf");
  EXPECT_EQ(figures->architecture, "qwen35");
  EXPECT_EQ(figures->program, "cairn 1.2");
  EXPECT_EQ(figures->memory, "hybrid");
  EXPECT_EQ(figures->grid_tokens, 64u);
  EXPECT_EQ(Server().Tokenize("abc", true), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(Server().Prompt("{}"), "<user>");
}

TEST_F(BenchServerTest, KnowsLittleOfAServerThatHasOnlyChat) {
  MakeServer();
  Serve("GET", "/v1/models", "[]");
  Serve("POST", "/tokenize", R"({"tokens":["a"]})");
  StartServer();
  const auto figures = Server().Describe();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->model + figures->program + figures->memory, "");
  EXPECT_EQ(Server().Tokenize("abc", true), std::nullopt);
  EXPECT_EQ(Server().Prompt("{}"), std::nullopt);
  EXPECT_EQ(Server().TokensRead(), std::nullopt);
}

TEST_F(BenchServerTest, SaysWhenNobodyIsThere) {
  MakeServer();
  StartServer();
  const BenchServer server = Server();
  StopServer();
  EXPECT_EQ(server.Describe().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.WaitUntilReady(1).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cairn
