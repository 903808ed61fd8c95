// Two `cairn serve` with folders of their own behind one Valkey or S3 server: a conversation goes
// on on the other one.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "served.h"
#include "testing/remote/real_server.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::MetricOf;
using test::NextTurn;
using test::ReadTokens;
using test::RealServer;

const std::string kKey = "6f1d7c4a9b2e8053d4c6a1f7e9b03c58";

Json AskOf(const ServerProcess& server, const Json& body) {
  const auto reply = HttpClient(server.url()).Post("/v1/chat/completions", body.dump());
  EXPECT_TRUE(reply && reply->status == 200) << server.LastLines();
  return reply && reply->status == 200 ? Json::parse(reply->body) : Json();
}

class RemoteServeTest : public test::ServedTest {
 protected:
  RemoteServeTest() {
    std::ofstream(key_file_) << kKey << "\n";
    std::filesystem::permissions(key_file_, std::filesystem::perms::owner_read);
  }
  ~RemoteServeTest() override { other_.reset(); }

  // Returns false, after saying so, if there is no server to test with.
  bool StartValkey(const Flags& more = {}) {
    if (test::ValkeyProgram().empty()) return false;
    const uint16_t port = test::FreePort();
    valkey_ = std::make_unique<RealServer>(test::ValkeyCommand(port, more), port);
    EXPECT_TRUE(valkey_->WaitUntilListening(20));
    return true;
  }
  Flags RemoteFlags(const std::string& folder) const {
    return {"--cache-dir",       files_ + "/" + folder,
            "--remote",          "valkey://127.0.0.1:" + std::to_string(valkey_->port()),
            "--remote-key-file", key_file_,
            "--remote-after-s",  "0",
            "--remote-min-ms",   "0",
            "--remote-wait-ms",  "2000"};
  }
  void ServeOther(const Flags& flags) {
    other_.reset();
    auto server = ServerProcess::Start(
        {.argv = test::ServeCommand(flags), .log_path = files_ + "/other.log"});
    ASSERT_TRUE(server.has_value()) << server.error().message;
    other_ = std::move(*server);
  }
  // Until nothing more was uploaded for a second. Checkpoints that wait for a second conversation
  // stay in cairn_remote_to_upload.
  void WaitUntilUploaded() const {
    constexpr int kPolls = 50;
    double uploaded = 0;
    int same = 0;
    WaitUntil("uploads end", [&] {
      const double now = Metric("cairn_remote_uploaded_total");
      same = now > 0 && now == uploaded ? same + 1 : 0;
      uploaded = now;
      return same >= kPolls && Metric("cairn_disk_unsynced_bytes") == 0;
    });
  }

  const std::string key_file_ = files_ + "/key";
  std::unique_ptr<RealServer> valkey_;
  std::unique_ptr<ServerProcess> other_;
};

TEST_F(RemoteServeTest, ConversationGoesOnOnAnotherServer) {
  if (!StartValkey()) GTEST_SKIP() << test::kNoValkey;
  Serve(RemoteFlags("one"));
  const Json reply = Ask(FirstTurn(16, 3000));
  EXPECT_GT(ReadTokens(reply), 3000);
  WaitUntilUploaded();
  ServeOther(RemoteFlags("two"));
  const Json next = AskOf(*other_, NextTurn(FirstTurn(16, 3000), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << other_->LastLines();
  EXPECT_GT(MetricOf(*other_, "cairn_remote_fetched_total"), 0);
  EXPECT_EQ(MetricOf(*other_, "cairn_remote_corrupt_total"), 0);
  // The server that it left answers the same.
  const Json stayed = Ask(NextTurn(FirstTurn(16, 3000), reply));
  EXPECT_EQ(stayed["choices"][0]["message"], next["choices"][0]["message"]);
}

TEST_F(RemoteServeTest, ServerThatIsStoppedUploadsFirst) {
  if (!StartValkey()) GTEST_SKIP() << test::kNoValkey;
  Flags flags = RemoteFlags("one");
  flags[7] = "3600";
  Serve(flags);
  const Json reply = Ask(FirstTurn(16, 3000));
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  EXPECT_NE(Log().find("uploaded to 127.0.0.1:"), std::string::npos) << Log();
  ServeOther(RemoteFlags("two"));
  const Json next = AskOf(*other_, NextTurn(FirstTurn(16, 3000), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << other_->LastLines();
}

TEST_F(RemoteServeTest, DeadAndHungStoresCostNoRequest) {
  if (!StartValkey()) GTEST_SKIP() << test::kNoValkey;
  Flags flags = RemoteFlags("one");
  flags.back() = "50";
  Serve(flags);
  valkey_->Signal(SIGSTOP);
  for (int i = 0; i < 6; ++i) {
    Json body = FirstTurn(4, 2000);
    body["messages"][1]["content"] = "question " + std::to_string(i);
    body["messages"][0]["content"] = std::string(2000, static_cast<char>('a' + i));
    Ask(body);
  }
  WaitUntil("the breaker is open", [&] { return Metric("cairn_remote_open") == 1; });
  valkey_->Kill(SIGKILL);
  const Json reply = Ask(FirstTurn());
  EXPECT_EQ(ReadTokens(Ask(NextTurn(FirstTurn(), reply))) < kNewTokensMax, true);
  EXPECT_NE(Log().find("requests go on without it"), std::string::npos) << Log();
}

TEST_F(RemoteServeTest, SecretsAreNowhere) {
  if (!StartValkey({"--requirepass", "correct-horse-battery"})) GTEST_SKIP() << test::kNoValkey;
  const std::string credentials = files_ + "/credentials";
  std::ofstream(credentials) << "default:correct-horse-battery\n";
  const Flags more = {"--remote-credentials", credentials, "--log-level", "debug"};
  Serve(Join(RemoteFlags("one"), more));
  Ask(FirstTurn(16, 3000));
  WaitUntilUploaded();
  const std::string command = "/proc/" + std::to_string(server_->pid()) + "/cmdline";
  const std::string seen =
      Get("/props").body + Get("/metrics").body + Log() + ReadFile(command).value_or("");
  EXPECT_NE(seen.find("--remote-credentials"), std::string::npos);
  EXPECT_EQ(seen.find(kKey), std::string::npos);
  EXPECT_EQ(seen.find("correct-horse"), std::string::npos);
  EXPECT_NE(seen.find(", sealed"), std::string::npos);
}

TEST_F(RemoteServeTest, RefusesFlagsThatDoNotFit) {
  const std::string url = "valkey://127.0.0.1:1";
  EXPECT_NE(Refusal({"--remote", url}).find("--remote-key-file"), std::string::npos);
  const Flags sealed = {"--remote", url, "--remote-key-file", key_file_};
  EXPECT_NE(Refusal(Join(sealed, {"--cache-disk", "0"})).find("--cache-dir"), std::string::npos);
  EXPECT_NE(Refusal(Join(sealed, {"--remote-plain"})).find("--remote-plain"), std::string::npos);
  EXPECT_NE(Refusal({"--remote", "valkey://10.1.2.3:1", "--remote-key-file", key_file_})
                .find("--remote-insecure"),
            std::string::npos);
  EXPECT_NE(Refusal({"--remote", "s3://bucket", "--remote-key-file", key_file_})
                .find("AWS_ACCESS_KEY_ID"),
            std::string::npos);
  const std::string secret = Refusal({"--remote", "valkey://a:hunter2@h", "--remote-plain"});
  EXPECT_NE(secret.find("--remote-credentials"), std::string::npos);
  EXPECT_EQ(secret.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace cairn
