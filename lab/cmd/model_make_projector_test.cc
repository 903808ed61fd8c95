#include "lab/cmd/model_make.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace cairn::model_make_projector_test {
namespace {

// Parses the command line `arguments` after "cairn-lab model". Throws CLI11's errors.
ModelMakeProjectorOptions Parse(const std::string& arguments) {
  ModelMakeProjectorOptions options;
  CLI::App model;
  AddModelMakeProjector(&model, &options);
  model.parse(arguments);
  return options;
}

TEST(ModelMakeProjector, TakesKindFileAndWidthFromTheCommandLine) {
  const ModelMakeProjectorOptions options =
      Parse("make-projector gemma3 out.gguf --width 64 --seed 9");
  EXPECT_EQ(options.shape.kind, "gemma3");
  EXPECT_EQ(options.path, "out.gguf");
  EXPECT_EQ(options.shape.width, 64U);
  EXPECT_EQ(options.shape.seed, 9U);
}

TEST(ModelMakeProjector, AsksForTheWidthOfTheTextModel) {
  EXPECT_THROW(Parse("make-projector gemma3 out.gguf"), CLI::ParseError);
  EXPECT_THROW(Parse("make-projector gemma3 out.gguf --width 0"), CLI::ParseError);
}

TEST(ModelMakeProjector, PrintsOneLineAboutTheFileOrTheError) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("cairn_make_projector_" + std::to_string(getpid()) + ".gguf");
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunModelMakeProjector(Parse("make-projector gemma3 " + path.string() + " --width 32")),
            0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(out.find(path.string() + ": gemma3 for models 32 wide, "), 0U) << out;
  EXPECT_NE(out.find(" " + std::to_string(std::filesystem::file_size(path)) + " bytes\n"),
            std::string::npos)
      << out;
  std::filesystem::remove(path);

  testing::internal::CaptureStderr();
  EXPECT_EQ(RunModelMakeProjector(Parse("make-projector camera " + path.string() + " --width 32")),
            1);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("choose one of gemma3, lfm2, qwen2a, qwen3vl_merger"), std::string::npos)
      << error;
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace cairn::model_make_projector_test
