#include "cmd/serve/models/cached_models.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cairn {
namespace {

namespace fs = std::filesystem;

class CachedModelsTest : public ::testing::Test {
 protected:
  CachedModelsTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CachedModelsTest() override { fs::remove_all(folder_); }

  void Put(const std::string& repo_folder, const std::string& path) const {
    const fs::path file = folder_ / repo_folder / "snapshots" / "c1" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "GGUF";
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      ("cached_models_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(CachedModelsTest, HaveTheNamesThatHfTakesAndTheirProjectors) {
  Put("models--a--b-GGUF", "b-Q4_K_M.gguf");
  Put("models--a--b-GGUF", "b-Q8_0.gguf");
  Put("models--a--b-GGUF", "mmproj-b-f16.gguf");
  const auto models = CachedModelsIn(folder_.string());
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "a/b-GGUF:Q4_K_M");
  EXPECT_EQ(models[1].name, "a/b-GGUF:Q8_0");
  EXPECT_TRUE(models[0].path.ends_with("/models--a--b-GGUF/snapshots/c1/b-Q4_K_M.gguf"));
  EXPECT_TRUE(models[0].projector.ends_with("/mmproj-b-f16.gguf"));
}

TEST_F(CachedModelsTest, AreOnlyThoseWithAllTheirParts) {
  Put("models--a--whole", "w-Q8_0-00001-of-00002.gguf");
  Put("models--a--whole", "w-Q8_0-00002-of-00002.gguf");
  Put("models--a--half", "h-Q8_0-00001-of-00002.gguf");
  Put("models--a--none", "config.json");
  const auto models = CachedModelsIn(folder_.string());
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].name, "a/whole:Q8_0");
}

TEST_F(CachedModelsTest, OfAFolderThatIsNotThereAreNone) {
  EXPECT_TRUE(CachedModelsIn((folder_ / "gone").string()).empty());
}

}  // namespace
}  // namespace cairn
