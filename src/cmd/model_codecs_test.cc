#include "cmd/model_codecs.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/test_models.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

ModelCodecsOptions Parse(const std::string& arguments) {
  ModelCodecsOptions options;
  CLI::App model;
  AddModelCodecs(&model, &options);
  model.parse(arguments);
  return options;
}

Json Measured(const std::string& architecture, uint32_t window_tokens = 0) {
  const ModelCodecsOptions options =
      Parse("codecs " + test::MadeModel(architecture, window_tokens) +
            " --json -t 1 --prompt-tokens 512 --tokens 32");
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunModelCodecs(options), 0);
  return Json::parse(testing::internal::GetCapturedStdout());
}

TEST(ModelCodecs, TakesPromptAndTokensFromTheCommandLine) {
  const ModelCodecsOptions options = Parse("codecs a.gguf --prompt b --prompt-tokens 7 --tokens 8");
  EXPECT_EQ(options.llama.model_path, "a.gguf");
  EXPECT_EQ(options.prompt_path, "b");
  EXPECT_EQ(options.prompt_tokens, 7u);
  EXPECT_EQ(options.tokens, 8u);
  EXPECT_THROW(Parse("codecs"), CLI::ParseError);
}

// Raw and lossless give every bit back; the others move logits, but not far.
TEST(ModelCodecs, MeasuresEveryCodecOnEveryMemory) {
  for (const char* architecture : {"qwen35", "mamba2", "gpt-oss", "qwen3"}) {
    SCOPED_TRACE(architecture);
    const Json json = Measured(architecture, std::string(architecture) == "gpt-oss" ? 96 : 0);
    EXPECT_EQ(json["position"], 512);
    EXPECT_EQ(json["floats_proven"], true);
    ASSERT_EQ(json["codecs"].size(), 5u);
    for (const Json& codec : json["codecs"]) {
      SCOPED_TRACE(codec.dump());
      const bool lossy = codec["codec"] != "raw" && codec["codec"] != "lossless";
      EXPECT_EQ(codec["tokens"], 32);
      EXPECT_FALSE(codec["objects"].empty());
      if (!lossy) {
        EXPECT_EQ(codec["logit_delta_max"], 0);
      }
      if (codec["codec"] == "int8") {
        EXPECT_GT(codec["logit_delta_max"], 0);
      }
      EXPECT_LT(codec["kl_mean"], 0.1);
    }
  }
}

TEST(ModelCodecs, SaysInOneLineWhatIsMissing) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunModelCodecs(Parse("codecs /no/such/file.gguf")), 1);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_EQ(error.find("cairn model codecs: there is no model file"), 0u) << error;
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunModelCodecs(Parse("codecs a.gguf --prompt /no/such/text")), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("/no/such/text"), std::string::npos);
}

}  // namespace
}  // namespace cairn
