// Several processes that download one model, and processes that are killed in the middle of it.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "download/web/curl_transfer.h"
#include "testing/download/download_fixture.h"
#include "testing/download/hub_server.h"

namespace cairn {
namespace {

class DownloadProcesses : public DownloadTest {
 protected:
  DownloadProcesses() { hub_.Add("made/model", "m.gguf", content_); }

  // Forks a process that downloads the model and exits with 0 if it is right. It uses nothing that
  // the server's threads lock.
  pid_t Fork(const std::string& endpoint) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    settings_.endpoint = endpoint;
    hooks_.sleep = nullptr;
    hooks_.log = [this](LogLevel, std::string_view line) {
      std::ofstream(folder_ + "/log", std::ios::app) << line << std::endl;
    };
    rules_.pause_ms = 20;
    const std::unique_ptr<Transfer> curl = MakeCurlTransfer();
    const auto model =
        ModelDownload(curl.get(), settings_, hooks_, rules_).FromHub({"made/model", "", true});
    _exit(model && ContentOf(model->path) == content_ ? 0 : 1);
  }
  static int ExitOf(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  uint64_t PartBytes() const {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(
        folder_ + "/hub/models--made--model/blobs/" + Sha256Of(content_) + ".cairn-part", error);
    return error ? 0 : bytes;
  }

  const std::string content_ = MadeContent(400'000, 1);
};

TEST_F(DownloadProcesses, OneDownloadsAndTheOthersWaitForIt) {
  HubServer server(&hub_);
  hub_.SetFault([](const HubAsked& asked, HubAnswer* answer) {
    if (asked.target.starts_with("/lfs/")) answer->pause_ms = 30;
  });
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(Fork(server.hub_origin()));
  for (const pid_t child : children) EXPECT_EQ(ExitOf(child), 0);
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 1u);
  EXPECT_NE(ContentOf(folder_ + "/log").find("another process downloads m.gguf: waiting for it"),
            std::string::npos);
}

TEST_F(DownloadProcesses, AKilledProcessLosesNothingOfWhatItHad) {
  HubServer server(&hub_);
  hub_.SetFault([](const HubAsked& asked, HubAnswer* answer) {
    if (asked.target.starts_with("/lfs/")) answer->pause_ms = 5;
  });
  uint64_t before = 0;
  for (int kills = 0; kills < 5; ++kills) {
    const pid_t child = Fork(server.hub_origin());
    while (PartBytes() < before + 40'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(child, SIGKILL);
    EXPECT_EQ(ExitOf(child), 128 + SIGKILL);
    EXPECT_GE(PartBytes(), before + 40'000);
    before = PartBytes();
  }
  EXPECT_EQ(ExitOf(Fork(server.hub_origin())), 0);
  EXPECT_EQ(hub_.asked().back().Header("Range"), "bytes=" + std::to_string(before) + "-");
}

}  // namespace
}  // namespace cairn
