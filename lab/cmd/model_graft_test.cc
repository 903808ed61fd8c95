#include "lab/cmd/model_make.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace cairn::model_graft_test {
namespace {

std::string TemporaryPath(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("cairn_model_graft_" + std::to_string(getpid()) + "_" + name))
      .string();
}

TEST(ModelGraft, TakesBothFilesFromTheCommandLine) {
  ModelGraftOptions options;
  CLI::App model;
  const CLI::App* graft = AddModelGraft(&model, &options);
  model.parse("graft in.gguf out.gguf");
  EXPECT_TRUE(graft->parsed());
  EXPECT_EQ(options.from, "in.gguf");
  EXPECT_EQ(options.to, "out.gguf");
  EXPECT_THROW(model.parse("graft in.gguf"), CLI::ParseError);
}

TEST(ModelGraft, PrintsOneLineAboutTheFile) {
  ModelMakeOptions make;
  make.shape.architecture = "llama";
  make.shape.width = 64;
  make.path = TemporaryPath("in.gguf");
  testing::internal::CaptureStdout();
  ASSERT_EQ(RunModelMake(make), 0);
  testing::internal::GetCapturedStdout();
  const ModelGraftOptions options = {make.path, TemporaryPath("out.gguf"), false};
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunModelGraft(options), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string bytes = std::to_string(std::filesystem::file_size(options.to));
  EXPECT_TRUE(out.starts_with(options.to + ": falcon-h1, the weights of ")) << out;
  EXPECT_TRUE(out.ends_with(" MB of recurrent state, " + bytes + " bytes\n")) << out;
  std::filesystem::remove(options.from);
  std::filesystem::remove(options.to);
}

TEST(ModelGraft, FailsWithOneLineOnStandardError) {
  const ModelGraftOptions options = {"/no/such/in.gguf", TemporaryPath("out.gguf"), false};
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunModelGraft(options), 1);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_EQ(error, "cairn-lab model graft: /no/such/in.gguf cannot be read, or is no GGUF file.\n");
  EXPECT_FALSE(std::filesystem::exists(options.to));
}

}  // namespace
}  // namespace cairn::model_graft_test
