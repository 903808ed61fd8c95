// `cairn serve` answers /infill and /v1/rerank with synthetic models on libllama.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/maker/llama_model_maker.h"
#include "served.h"

namespace cairn {
namespace {

std::string WriteModelOf(const ModelShape& shape, const std::string& name) {
  std::string path = test::OwnPath(name) + ".gguf";
  const auto recipe = MakeRecipe(shape);
  EXPECT_TRUE(recipe.has_value());
  EXPECT_TRUE(WriteModel(*recipe, path, {"q8_0", {}}).has_value());
  return path;
}

// Replaces the bytes of a model's file; the two texts have the same length.
void ReplaceInFile(const std::string& path, std::string_view text, std::string_view by) {
  std::string bytes = ReadFile(path).value_or("");
  const size_t at = bytes.find(text);
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(text.size(), by.size());
  bytes.replace(at, by.size(), by);
  std::ofstream(path, std::ios::binary) << bytes;
}

class InfillRerankTest : public test::ServedTest {
 protected:
  ~InfillRerankTest() override {
    server_.reset();
    std::filesystem::remove(path_);
  }
  void ServeModel(const ModelShape& shape, const test::Flags& flags) {
    path_ = WriteModelOf(shape, "texts");
    Serve(test::Join({"--cache-disk", "0", "--no-warm"}, flags), path_);
  }
  Json Answer(const std::string& path, const Json& body) const {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? Json::parse(reply.body) : Json();
  }

  std::string path_;
};

TEST_F(InfillRerankTest, TheChunksOfOtherFilesArePrefilledOnce) {
  ModelShape shape;
  shape.architecture = "qwen35";
  shape.width = 64;
  shape.infill = true;
  ServeModel(shape, {"-b", "1024"});
  Json body = {{"input_prefix", "int first() {\n  "}, {"input_suffix", "\n}\n"}, {"n_predict", 8}};
  for (int i = 0; i < 6; ++i) {
    body["input_extra"].push_back({{"filename", "file" + std::to_string(i)},
                                   {"text", std::string(200, static_cast<char>('a' + i))}});
  }
  const Json first = Answer("/infill", body);
  EXPECT_EQ(first["tokens_predicted"], 8);
  EXPECT_EQ(first["timings"]["cache_n"], 0);
  const int prompt = first["tokens_evaluated"].get<int>();
  // The cursor is elsewhere: another text, of a hundred tokens, follows the chunks.
  body["input_prefix"] = "void second(" + std::string(60, 'x') + ") {\n  ";
  const Json second = Answer("/infill", body);
  EXPECT_GT(second["timings"]["cache_n"], prompt - 21 - 64);
  EXPECT_LT(second["timings"]["prompt_n"], 100 + 64);
  // The same request resumes from the cache and gives the same answer.
  body["temperature"] = 0;
  EXPECT_EQ(Answer("/infill", body)["content"], Answer("/infill", body)["content"]);
}

TEST_F(InfillRerankTest, AModelWithoutTheTokensIsRefusedByName) {
  Serve({"--cache-disk", "0"});
  const HttpReply reply = Post("/infill", {{"input_prefix", "a"}, {"input_suffix", "b"}});
  EXPECT_EQ(reply.status, 501) << reply.body;
  EXPECT_NE(reply.body.find("prefix"), std::string::npos);
  EXPECT_EQ(Post("/v1/rerank", {{"query", "a"}, {"documents", {"b"}}}).status, 501);
}

TEST_F(InfillRerankTest, DocumentsAreRankedByAModelWithAHead) {
  ModelShape shape;
  shape.architecture = "qwen3";
  shape.width = 64;
  shape.ranks = true;
  ServeModel(shape, {"--reranking"});
  const Json body = {{"query", "What is a cairn?"},
                     {"documents", {"A fish.", "A pile of stones.", "A hill in Wales."}}};
  const Json answer = Answer("/v1/rerank", body);
  ASSERT_EQ(answer["results"].size(), 3u);
  EXPECT_TRUE(std::is_sorted(
      answer["results"].begin(), answer["results"].end(),
      [](const Json& a, const Json& b) { return a["relevance_score"] > b["relevance_score"]; }));
  EXPECT_NE(answer["results"][0]["relevance_score"], answer["results"][2]["relevance_score"]);
  EXPECT_EQ(Answer("/rerank", body), answer);
  Json broken = body;
  broken["documents"][1] = std::string(5000, 'a');
  const HttpReply reply = Post("/v1/rerank", broken);
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("documents[1]"), std::string::npos) << reply.body;
}

TEST_F(InfillRerankTest, AModelWithoutAHeadIsNotServedForRanking) {
  EXPECT_NE(Refusal({"--reranking"}).find("classification head"), std::string::npos);
}

TEST_F(InfillRerankTest, AModelWhoseTemplateCannotBeReadIsServedForWhatNeedsNone) {
  ModelShape shape;
  shape.architecture = "llama";
  path_ = WriteModelOf(shape, "template");
  ReplaceInFile(path_, "{%- endfor -%}", "{%- with x -%}");
  Serve({"--cache-disk", "0", "--no-warm", "--embeddings"}, path_);
  const std::string log = Log();
  const size_t warned = log.find("the chat template cannot be read");
  ASSERT_NE(warned, std::string::npos) << log;
  EXPECT_EQ(log.find("the chat template cannot be read", warned + 1), std::string::npos) << log;
  EXPECT_EQ(Answer("/v1/embeddings", {{"input", "A fish."}})["data"].size(), 1u);
  Answer("/completion", {{"prompt", "A fish"}, {"n_predict", 4}});
  EXPECT_EQ(Get("/props").status, 200);
  const Json question = {
      {"max_tokens", 4},
      {"messages", Json::array({{{"role", "user"}, {"content", "A fish?"}}})},
  };
  const std::vector<std::pair<std::string, Json>> requests = {
      {"/v1/chat/completions", question},
      {"/v1/messages", question},
      {"/v1/messages/count_tokens", question},
      {"/apply-template", question},
      {"/v1/responses", Json{{"input", "A fish?"}}},
  };
  for (const auto& [path, body] : requests) {
    const HttpReply reply = Post(path, body);
    EXPECT_EQ(reply.status, 501) << path << ": " << reply.body;
    EXPECT_NE(reply.body.find("the chat template cannot be read"), std::string::npos) << path;
    EXPECT_NE(reply.body.find("--chat-template"), std::string::npos) << path;
  }
  Serve({"--cache-disk", "0", "--no-warm", "--chat-template", "chatml"}, path_);
  EXPECT_EQ(Post("/v1/chat/completions", question).status, 200);
  // One that a flag gives is the user's to mend.
  EXPECT_NE(Refusal({"--chat-template", "{% with x %}"}, path_).find("cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn
