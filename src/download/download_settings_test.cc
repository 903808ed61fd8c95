#include "download/download_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

namespace cairn {
namespace {

using Variables = std::map<std::string, std::string>;

DownloadSettings Settings(const Variables& variables) {
  return SettingsOf([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(DownloadSettings, TheHubIsHuggingFaceUnlessAVariableNamesAnother) {
  EXPECT_EQ(Settings({}).endpoint, "https://huggingface.co/");
  EXPECT_EQ(Settings({{"HF_ENDPOINT", "https://mirror.test"}}).endpoint, "https://mirror.test/");
  EXPECT_EQ(Settings({{"HF_ENDPOINT", "https://a/"}, {"MODEL_ENDPOINT", "https://b/"}}).endpoint,
            "https://b/");
}

TEST(DownloadSettings, TheFolderIsThatOfLlamaServerAndHuggingFaceHub) {
  Variables variables = {{"HOME", "/home/ada"}};
  EXPECT_EQ(Settings(variables).hub_folder, "/home/ada/.cache/huggingface/hub");
  EXPECT_EQ(Settings(variables).url_folder, "/home/ada/.cache/cairn-urls");
  variables["XDG_CACHE_HOME"] = "/x";
  EXPECT_EQ(Settings(variables).hub_folder, "/x/huggingface/hub");
  variables["HF_HOME"] = "/hf";
  EXPECT_EQ(Settings(variables).hub_folder, "/hf/hub");
  variables["HUGGINGFACE_HUB_CACHE"] = "/old";
  EXPECT_EQ(Settings(variables).hub_folder, "/old");
  variables["HF_HUB_CACHE"] = "/hub";
  EXPECT_EQ(Settings(variables).hub_folder, "/hub");
  variables["LLAMA_CACHE"] = "/llama";
  EXPECT_EQ(Settings(variables).hub_folder, "/llama");
  EXPECT_EQ(Settings(variables).url_folder, "/llama/cairn-urls");
  EXPECT_EQ(Settings({}).hub_folder, "");
}

TEST(DownloadSettings, TheTokenIsTheVariablesOrThatOfTheFileOfALogin) {
  const std::string folder = testing::TempDir() + "cairn_token_" + std::to_string(getpid());
  std::ofstream(folder) << "hf_fromfile\n";
  EXPECT_EQ(Settings({{"HF_TOKEN", "hf_abc"}, {"HF_TOKEN_PATH", folder}}).token, "hf_abc");
  EXPECT_EQ(Settings({{"HF_TOKEN_PATH", folder}}).token, "hf_fromfile");
  unlink(folder.c_str());
  EXPECT_EQ(Settings({{"HF_TOKEN_PATH", folder}}).token, "");
  // No end of line may get into a header.
  EXPECT_EQ(Settings({{"HF_TOKEN", " hf_abc\r\nX-Evil: 1"}}).token, "hf_abc");
}

TEST(DownloadSettings, OfflineIsAVariableToo) {
  EXPECT_FALSE(Settings({}).offline);
  EXPECT_FALSE(Settings({{"HF_HUB_OFFLINE", "0"}}).offline);
  EXPECT_TRUE(Settings({{"HF_HUB_OFFLINE", "1"}}).offline);
  EXPECT_TRUE(Settings({{"LLAMA_OFFLINE", "true"}}).offline);
}

}  // namespace
}  // namespace cairn
