#include "fleet/router/presets/models_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cairn {
namespace {

class ModelsFolder : public ::testing::Test {
 protected:
  ModelsFolder() { std::filesystem::create_directories(folder_); }
  ~ModelsFolder() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& path) const {
    const std::filesystem::path file = folder_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "x";
  }

  // Returns "name=file" or "name=file+projector" for each, relative to the folder.
  std::string Listed() const {
    const auto models = ListModels(folder_);
    if (!models) return models.error().message;
    std::string shown;
    for (const FoundModel& model : *models) {
      shown += model.name + "=" + model.path.substr(folder_.size() + 1);
      if (!model.projector.empty()) shown += "+" + model.projector.substr(folder_.size() + 1);
      shown += " ";
    }
    return shown;
  }

  const std::string folder_ =
      testing::TempDir() + "cairn_models_folder_" + std::to_string(getpid());
};

TEST_F(ModelsFolder, ListsFilesByTheirNames) {
  Write("zeta.gguf");
  Write("alpha.v1.gguf");
  Write("notes.txt");
  EXPECT_EQ(Listed(), "alpha.v1=alpha.v1.gguf zeta=zeta.gguf ");
}

TEST_F(ModelsFolder, ListsAModelInPartsOnce) {
  Write("big-00001-of-00003.gguf");
  Write("big-00002-of-00003.gguf");
  Write("big-00003-of-00003.gguf");
  Write("of-0001-of-0002.gguf");
  EXPECT_EQ(Listed(), "big=big-00001-of-00003.gguf of-0001-of-0002=of-0001-of-0002.gguf ");
}

TEST_F(ModelsFolder, NamesAModelInAFolderByTheFolder) {
  Write("qwen/Qwen-Q4_K_M.gguf");
  Write("qwen/mmproj-f16.gguf");
  Write("parts/x-00002-of-00002.gguf");
  Write("parts/x-00001-of-00002.gguf");
  Write("empty/readme.md");
  EXPECT_EQ(Listed(),
            "parts=parts/x-00001-of-00002.gguf qwen=qwen/Qwen-Q4_K_M.gguf+qwen/mmproj-f16.gguf ");
}

TEST_F(ModelsFolder, LeavesOutAProjectorWithoutAModel) {
  Write("mmproj-model.gguf");
  Write("lonely/mmproj.gguf");
  EXPECT_EQ(Listed(), "");
}

TEST_F(ModelsFolder, PrefersAFileToAFolderOfTheSameName) {
  Write("twin.gguf");
  Write("twin/other.gguf");
  EXPECT_EQ(Listed(), "twin=twin.gguf ");
}

TEST_F(ModelsFolder, SaysThatAFolderIsMissing) {
  const auto models = ListModels(folder_ + "/absent");
  ASSERT_FALSE(models.has_value());
  EXPECT_EQ(models.error().code, ErrorCode::kNotFound);
  EXPECT_NE(models.error().message.find("absent"), std::string::npos);
}

TEST(FileBytes, AreThoseOfAllFilesAndParts) {
  const std::string folder = ::testing::TempDir() + "file_bytes_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, size_t bytes) {
    std::ofstream(folder + "/" + name) << std::string(bytes, 'x');
  };
  write("m-00001-of-00002.gguf", 10);
  write("m-00002-of-00002.gguf", 200);
  write("mmproj.gguf", 3000);
  write("template.jinja", 40000);
  ModelEntry entry;
  entry.arguments = {"serve",
                     "--model=" + folder + "/m-00001-of-00002.gguf",
                     "--mmproj=" + folder + "/mmproj.gguf",
                     "--chat-template-file=" + folder + "/template.jinja",
                     "--hf-repo=user/repo",
                     "--draft=" + folder + "/absent.gguf"};
  EXPECT_EQ(FileBytes(entry), 3210u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cairn
