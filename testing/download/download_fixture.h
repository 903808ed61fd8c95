// A folder of a test's own, a PlayedHub, and downloads that ask it without sockets and do not
// sleep.

#ifndef CAIRN_TESTING_DOWNLOAD_DOWNLOAD_FIXTURE_H_
#define CAIRN_TESTING_DOWNLOAD_DOWNLOAD_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "download/model_download.h"
#include "download/web/transfer.h"
#include "testing/download/played_hub.h"

namespace cairn {

// FakeTransfer: asks a PlayedHub without sockets, as libcurl would with them.

// Thrown in the middle of a body, as if the process had been killed there.
struct KilledHere : std::exception {};

class FakeTransfer final : public Transfer {
 public:
  explicit FakeTransfer(PlayedHub* hub) : hub_(hub) {}

  // The next bodies throw KilledHere behind so many bytes in all; SIZE_MAX: never.
  void KillAfter(size_t bytes) { lives_for_ = bytes; }

  Status Run(const TransferRequest& request, const TransferSink& sink) override {
    const auto url = ParseWebUrl(request.url);
    if (!url) return tl::unexpected(url.error());
    const HubAnswer answer =
        hub_->Answer({request.head_only ? "HEAD" : "GET", url->origin, url->path, request.headers});
    if (answer.refuses) return Fail(ErrorCode::kUnavailable, "connection refused");
    if (sink.head) {
      if (Status taken = sink.head({answer.status, answer.headers}); !taken) return taken;
    }
    if (request.head_only) return {};
    const std::string length = answer.Header("Content-Length");
    const size_t told =
        length.empty() ? answer.body.size() : std::strtoull(length.c_str(), nullptr, 10);
    const size_t sent = std::min({answer.body.size(), answer.sent_max, told});
    for (size_t at = 0; at < sent;) {
      const size_t size = std::min({sent - at, kPieceBytes, lives_for_});
      if (size == 0) throw KilledHere();
      if (lives_for_ != SIZE_MAX) lives_for_ -= size;
      if (sink.body) {
        Status taken = sink.body(BytesOf(std::string_view(answer.body).substr(at, size)));
        if (!taken) return taken;
      }
      at += size;
    }
    if (sent < told) return Fail(ErrorCode::kUnavailable, "the connection was cut");
    return {};
  }

 private:
  static constexpr size_t kPieceBytes = 700;

  PlayedHub* const hub_;
  size_t lives_for_ = SIZE_MAX;
};

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
