#include "lab/cmd/model_make.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace cairn::model_make_test {
namespace {

// Parses the command line `arguments` after "cairn model". Throws CLI11's errors.
ModelMakeOptions Parse(const std::string& arguments, bool* chosen = nullptr) {
  ModelMakeOptions options;
  CLI::App model;
  const CLI::App* make = AddModelMake(&model, &options);
  model.parse(arguments);
  if (chosen != nullptr) *chosen = make->parsed();
  return options;
}

std::string TemporaryPath() {
  return (std::filesystem::temp_directory_path() /
          ("cairn_model_make_" + std::to_string(getpid()) + ".gguf"))
      .string();
}

TEST(ModelMake, TakesEverySizeFromTheCommandLine) {
  bool chosen = false;
  const ModelMakeOptions options = Parse(
      "make gemma3 out.gguf --width 64 --layers 3 --ff 96 --heads 2 --window 32 --seed 9 "
      "--train-ctx 4096 --quant f16",
      &chosen);
  EXPECT_TRUE(chosen);
  EXPECT_EQ(options.shape.architecture, "gemma3");
  EXPECT_EQ(options.path, "out.gguf");
  EXPECT_EQ(options.shape.width, 64U);
  EXPECT_EQ(options.shape.layers, 3U);
  EXPECT_EQ(options.shape.ff, 96U);
  EXPECT_EQ(options.shape.heads, 2U);
  EXPECT_EQ(options.shape.window_tokens, 32U);
  EXPECT_EQ(options.shape.seed, 9U);
  EXPECT_EQ(options.shape.train_context_tokens, 4096U);
  EXPECT_EQ(options.quant, "f16");
  EXPECT_FALSE(options.shape.mtp);
  EXPECT_TRUE(Parse("make qwen35 out.gguf --mtp", &chosen).shape.mtp);
  EXPECT_EQ(Parse("make qwen35 out.gguf --mtp-right 0.5", &chosen).shape.mtp_right, 0.5F);
}

TEST(ModelMake, RefusesSizesThatAreNoCounts) {
  EXPECT_THROW(Parse("make llama out.gguf --width 0"), CLI::ParseError);
  EXPECT_THROW(Parse("make llama out.gguf --layers -2"), CLI::ParseError);
  EXPECT_THROW(Parse("make qwen35 out.gguf --mtp-right 2"), CLI::ParseError);
  EXPECT_THROW(Parse("make llama"), CLI::ParseError);
}

TEST(ModelMake, PrintsOneLineAboutTheFile) {
  ModelMakeOptions options = Parse("make mamba2 " + TemporaryPath() + " --width 64");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = RunModelMake(options);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(exit_code, 0);
  const std::string bytes = std::to_string(std::filesystem::file_size(options.path));
  EXPECT_EQ(out.find(options.path + ": mamba2, 64 wide, 4 layers, "), 0U) << out;
  EXPECT_NE(out.find(" q8_0, " + bytes + " bytes\n"), std::string::npos) << out;
  std::filesystem::remove(options.path);
}

TEST(ModelMake, FailsWithOneLineOnStandardError) {
  for (const char* arguments :
       {"make nosuch out.gguf", "make llama out.gguf --width 33", "make llama /no/such/out.gguf",
        "make llama out.gguf --quant q9_9"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(RunModelMake(Parse(arguments)), 1);
    const std::string error = testing::internal::GetCapturedStderr();
    EXPECT_EQ(error.find("cairn-lab model make: "), 0U) << error;
    EXPECT_EQ(error.find('\n'), error.size() - 1) << error;
  }
}

}  // namespace
}  // namespace cairn::model_make_test
