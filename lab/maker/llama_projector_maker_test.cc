#include "lab/maker/llama_model_maker.h"

#include <gguf.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "lab/maker/llama_gguf.h"

namespace cairn::llama_projector_maker_test {
namespace {

namespace fs = std::filesystem;

// A folder of its own, because tests of this program run concurrently.
class LlamaProjectorMaker : public testing::Test {
 protected:
  LlamaProjectorMaker() {
    std::string name = (fs::temp_directory_path() / "cairn_projector_maker_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    folder_ = name;
  }
  ~LlamaProjectorMaker() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

ProjectorRecipe RecipeOf(const std::string& kind, uint64_t seed = 1) {
  auto recipe = MakeProjectorRecipe({kind, 64, seed});
  EXPECT_TRUE(recipe.has_value());
  return recipe ? std::move(*recipe) : ProjectorRecipe{};
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(LlamaProjectorMaker, MakesTheSameBytesOfTheSameRecipe) {
  for (const std::string& kind : KnownProjectors()) {
    SCOPED_TRACE(kind);
    ASSERT_TRUE(WriteProjector(RecipeOf(kind), Path("a")).has_value());
    ASSERT_TRUE(WriteProjector(RecipeOf(kind), Path("b")).has_value());
    ASSERT_TRUE(WriteProjector(RecipeOf(kind, /*seed=*/2), Path("c")).has_value());
    EXPECT_EQ(ReadFile(Path("a")), ReadFile(Path("b")));
    EXPECT_NE(ReadFile(Path("a")), ReadFile(Path("c")));
  }
}

TEST_F(LlamaProjectorMaker, WritesAllTensorsAndNoOtherFile) {
  const ProjectorRecipe recipe = RecipeOf("qwen3vl_merger");
  const auto written = WriteProjector(recipe, Path("projector.gguf"));
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->file_bytes, fs::file_size(Path("projector.gguf")));
  EXPECT_EQ(FilesInFolder(), 1U);

  ggml_context* context = nullptr;
  const GgufPtr gguf(gguf_init_from_file(Path("projector.gguf").c_str(), {false, &context}));
  const GgmlPtr tensors(context);
  ASSERT_NE(gguf, nullptr);
  ASSERT_EQ(static_cast<size_t>(gguf_get_n_tensors(gguf.get())), recipe.tensors.size());
  uint64_t values = 0;
  for (const ProjectorTensor& wanted : recipe.tensors) {
    const ggml_tensor* tensor = ggml_get_tensor(tensors.get(), wanted.name.c_str());
    ASSERT_NE(tensor, nullptr) << wanted.name;
    EXPECT_TRUE(std::equal(wanted.sizes.begin(), wanted.sizes.end(), tensor->ne)) << wanted.name;
    values += static_cast<uint64_t>(ggml_nelements(tensor));
  }
  EXPECT_EQ(values, written->parameters);
}

// Patches and rows would otherwise grow or fade from layer to layer.
TEST_F(LlamaProjectorMaker, GivesOutputsOfAboutTheSizeOfTheirInputs) {
  ASSERT_TRUE(WriteProjector(RecipeOf("qwen3vl_merger"), Path("projector.gguf")).has_value());
  ggml_context* context = nullptr;
  const GgufPtr gguf(gguf_init_from_file(Path("projector.gguf").c_str(), {false, &context}));
  const GgmlPtr tensors(context);
  ASSERT_NE(gguf, nullptr);
  const auto squares_an_output = [&](const char* name, int64_t outputs) {
    const ggml_tensor* tensor = ggml_get_tensor(tensors.get(), name);
    const auto* values = static_cast<const float*>(tensor->data);
    double sum = 0;
    for (int64_t i = 0; i < ggml_nelements(tensor); ++i) sum += values[i] * values[i];
    return sum / static_cast<double>(outputs);
  };
  EXPECT_NEAR(squares_an_output("v.patch_embd.weight", 64), 1.0, 0.2);
  EXPECT_NEAR(squares_an_output("v.blk.0.ffn_up.weight", 128), 1.0, 0.2);
  EXPECT_NEAR(squares_an_output("v.blk.1.ln1.weight", 64), 1.0, 0.2);
  EXPECT_NEAR(squares_an_output("mm.2.weight", 64), 1.0, 0.2);
}

TEST_F(LlamaProjectorMaker, RefusesAFileThatItCannotWrite) {
  const auto folder = WriteProjector(RecipeOf("gemma3"), folder_.string());
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(FilesInFolder(), 0U);
  const auto nowhere = WriteProjector(RecipeOf("gemma3"), Path("no/such/folder"));
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn::llama_projector_maker_test
