// A folder of a test's own, a PlayedHub, and downloads that ask it without sockets and do not
// sleep.

#ifndef CAIRN_TESTING_DOWNLOAD_DOWNLOAD_FIXTURE_H_
#define CAIRN_TESTING_DOWNLOAD_DOWNLOAD_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "download/model_download.h"
#include "testing/download/fake_transfer.h"
#include "testing/download/played_hub.h"

namespace cairn {

// Bytes that begin as a GGUF file does, the same for each seed.
inline std::string MadeContent(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string content = "GGUF";
  while (content.size() < bytes) content += static_cast<char>(random() & 0xFFU);
  content.resize(bytes);
  return content;
}

inline std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    settings_.endpoint = "https://hub.test/";
    settings_.hub_folder = folder_ + "/hub";
    settings_.url_folder = folder_ + "/urls";
    hooks_.log = [this](LogLevel level, std::string_view line) {
      if (level != LogLevel::kDebug) said_ += std::string(line) + "\n";
    };
    hooks_.sleep = [this](double ms) { slept_ms_.push_back(ms); };
    rules_.progress_bytes = 1000;
    rules_.bytes_kept_free = 0;
  }
  ~DownloadTest() override { std::filesystem::remove_all(folder_); }

  ModelDownload Download() { return {&transfer_, settings_, hooks_, rules_}; }
  Result<DownloadedModel> FromHub(const std::string& name, const std::string& file = "",
                                  bool projector = true) {
    return Download().FromHub({name, file, projector});
  }
  Result<std::string> FromUrl(const std::string& url, const std::string& path = "") {
    return Download().FromUrl(url, path);
  }
  bool Said(const std::string& text) const { return said_.find(text) != std::string::npos; }

  // Every blob with a final name has the content that the name promises.
  void ExpectAllBlobsRight() const {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_symlink() || entry.is_directory() || !ParseContentSum(name).known()) continue;
      const std::string content = ContentOf(entry.path().string());
      EXPECT_EQ(name.size() == 40 ? GitSumOf(content) : Sha256Of(content), name);
    }
  }

  const std::string folder_ =
      testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_download";
  PlayedHub hub_;
  FakeTransfer transfer_{&hub_};
  DownloadSettings settings_;
  DownloadHooks hooks_;
  DownloadRules rules_;
  std::string said_;
  std::vector<double> slept_ms_;
};

// Expects a failure of that code whose message has `why` in it.
template <typename T>
void ExpectFails(const Result<T>& result, ErrorCode code, const std::string& why) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
}

}  // namespace cairn

#endif  // CAIRN_TESTING_DOWNLOAD_DOWNLOAD_FIXTURE_H_
