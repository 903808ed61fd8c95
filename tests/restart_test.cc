// `cairn serve` is ended, killed and started again: what it had read comes back from its folder.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "made_model.h"
#include "play/http_client.h"
#include "play/server_process.h"
#include "store/codec.h"
#include "store/object_folder.h"

namespace cairn {
namespace {

using Json = nlohmann::json;

const std::string& ModelPath() {
  static const std::string path = test::WriteMadeModel("restart_test");
  return path;
}

class RestartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::OwnPath("restart_test_cache");
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Start(const std::vector<std::string>& flags = {}) {
    ServerProcessOptions options;
    options.argv = {CAIRN_PROGRAM, "serve", "-m", ModelPath(), "--port", "0",           "-c",
                    "4096",        "-t",    "2",  "--grid",    "64",     "--cache-dir", folder_};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    auto server = ServerProcess::Start(options);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }

  Json Ask(const Json& body) {
    const auto reply = HttpClient(server_->url()).Post("/v1/chat/completions", body.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << reply->body;
    return Json::parse(reply->body);
  }

  double Metric(const std::string& name) { return MetricOf(*server_, name); }
  static double MetricOf(const ServerProcess& server, const std::string& name) {
    const std::string metrics = HttpClient(server.url()).Get("/metrics")->body;
    const size_t found = metrics.find("\n" + name + " ");
    EXPECT_NE(found, std::string::npos) << name;
    return std::stod(metrics.substr(found + name.size() + 2));
  }

  // The names of those that files there were written with.
  std::set<std::string> CodecsInFolder() const {
    std::set<std::string> codecs;
    const std::unique_ptr<Fs> fs = MakeRealFs();
    const auto contents = ObjectFolder(fs.get(), folder_).Scan({});
    EXPECT_TRUE(contents.has_value());
    if (!contents) return codecs;
    for (const FoundObject& object : contents->objects) {
      codecs.insert(std::string(CodecName(object.header.codec)));
    }
    return codecs;
  }

  // Until nothing would be lost if the power went.
  void WaitUntilSaved() {
    constexpr std::chrono::milliseconds kStep(50);
    for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
      if (Metric("cairn_disk_unsynced_bytes") == 0) return;
      std::this_thread::sleep_for(kStep);
    }
    FAIL() << "still unsaved: " << Metric("cairn_disk_unsynced_bytes") << " bytes";
  }

  static Json FirstTurn() {
    return {{"max_tokens", 16},
            {"temperature", 0},
            {"messages",
             {{{"role", "system"}, {"content", std::string(1500, 's')}},
              {{"role", "user"}, {"content", "first question"}}}}};
  }
  static Json NextTurn(Json body, const Json& reply) {
    body["messages"].push_back(reply["choices"][0]["message"]);
    body["messages"].push_back({{"role", "user"}, {"content", "second question"}});
    return body;
  }
  // What the next turn reads in a server that was never ended, and a grid step.
  static constexpr int kNewTokensMax = 100 + 64;

  std::string folder_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(RestartTest, AConversationGoesOnAfterTheServerWasEnded) {
  Start();
  const Json reply = Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  Start();
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(next["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, AConversationGoesOnAfterTheServerWasKilledOnceNothingIsUnsynced) {
  Start();
  const Json reply = Ask(FirstTurn());
  WaitUntilSaved();
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->WaitForExit(10'000), 128 + SIGKILL);
  Start();
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(next["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, AnswersAreTheSameAsWithoutACache) {
  const std::vector<std::string> exact = {"--reuse", "exact"};
  Start(exact);
  const Json body = NextTurn(FirstTurn(), Ask(FirstTurn()));
  ASSERT_EQ(server_->Stop(), 0);
  Start(exact);
  const Json reused = Ask(body);
  EXPECT_LT(reused["timings"]["prompt_n"].get<int>(), kNewTokensMax + 16);
  ASSERT_EQ(server_->Stop(), 0);
  Start({"--reuse", "exact", "--cache-ram", "0"});
  const Json cold = Ask(body);
  EXPECT_GT(cold["timings"]["prompt_n"].get<int>(), 1500);
  EXPECT_EQ(cold["choices"][0]["message"], reused["choices"][0]["message"]);
}

TEST_F(RestartTest, AConversationGoesOnWithEveryCodec) {
  for (const char* codec : {"raw", "lossless", "fp16", "int8", "rint16"}) {
    SCOPED_TRACE(codec);
    std::filesystem::remove_all(folder_);
    Start({"--codec", codec});
    const Json reply = Ask(FirstTurn());
    ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
    EXPECT_EQ(server_->LastLines().find("falls back"), std::string::npos) << server_->LastLines();
    EXPECT_TRUE(CodecsInFolder().contains(codec));
    Start({"--codec", codec});
    const Json next = Ask(NextTurn(FirstTurn(), reply));
    EXPECT_LT(next["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
    EXPECT_EQ(Metric("cairn_disk_corrupt_total"), 0);
  }
}

// Whoever keeps every bit reads what others keep so, and whoever does not what others do not.
TEST_F(RestartTest, AConversationGoesOnWithFilesOfAnotherCodec) {
  const std::vector<std::vector<const char*>> alike = {{"raw", "lossless"},
                                                       {"rint16", "fp16", "int8"}};
  for (const std::vector<const char*>& codecs : alike) {
    std::filesystem::remove_all(folder_);
    Json body = FirstTurn();
    for (size_t i = 0; i < codecs.size(); ++i) {
      SCOPED_TRACE(codecs[i]);
      Start({"--codec", codecs[i]});
      const Json reply = Ask(body);
      if (i > 0) {
        EXPECT_LT(reply["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
      }
      body = NextTurn(body, reply);
      ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
    }
    EXPECT_TRUE(CodecsInFolder().contains(codecs.back()));
  }
}

// What lost something would break the promise of a server that was started without a lossy codec.
TEST_F(RestartTest, AServerThatKeepsEveryBitTakesNothingFromOneThatDoesNot) {
  Start({"--codec", "int8"});
  const Json body = NextTurn(FirstTurn(), Ask(FirstTurn()));
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  Start({"--reuse", "exact"});
  EXPECT_GT(Ask(body)["timings"]["prompt_n"].get<int>(), 1500);
  EXPECT_EQ(Metric("cairn_cache_taken_in_total"), 0);
}

TEST_F(RestartTest, ALossyCodecIsRefusedWhereEveryBitIsPromised) {
  ServerProcessOptions options;
  options.argv = {CAIRN_PROGRAM, "serve", "-m",      ModelPath(), "--port",      "0",
                  "--codec",     "int8",  "--reuse", "exact",     "--cache-dir", folder_};
  const auto server = ServerProcess::Start(options);
  ASSERT_FALSE(server.has_value());
  EXPECT_NE(
      server.error().message.find("--codec int8 changes bits, and --reuse exact promises that "
                                  "none changes; take --codec lossless, or --reuse live"),
      std::string::npos)
      << server.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(RestartTest, AServerGoesOnWithWhatAnotherOneReadMeanwhile) {
  Start();
  std::unique_ptr<ServerProcess> other = std::move(server_);
  Start();
  const Json reply = Ask(FirstTurn());
  WaitUntilSaved();
  std::swap(server_, other);
  constexpr std::chrono::milliseconds kStep(50);
  for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
    if (Metric("cairn_cache_taken_in_total") > 0) break;
    std::this_thread::sleep_for(kStep);
  }
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(next["timings"]["prompt_n"].get<int>(), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, TwoServersUnderLoadInAFolderThatIsTooSmallForBothAnswerAsWithoutACache) {
  const std::vector<std::string> small = {"--reuse",      "exact", "--save-after-ms", "0",
                                          "--cache-disk", "0.001", "--cache-ram",     "8"};
  constexpr int kTurns = 30;
  constexpr int kConversations = 5;
  const auto body_of = [](int number) {
    Json body = FirstTurn();
    body["max_tokens"] = 8;
    body["messages"][0]["content"] = std::string(700, static_cast<char>('a' + number));
    return body;
  };
  Start({"--cache-ram", "0", "--reuse", "exact"});
  std::vector<Json> plain;
  for (int i = 0; i < kConversations; ++i) plain.push_back(Ask(body_of(i))["choices"]);
  Start(small);
  const std::unique_ptr<ServerProcess> one = std::move(server_);
  Start(small);
  const auto play = [&](const ServerProcess& server) {
    for (int turn = 0; turn < kTurns; ++turn) {
      const int number = turn % kConversations;
      const auto reply =
          HttpClient(server.url()).Post("/v1/chat/completions", body_of(number).dump());
      ASSERT_TRUE(reply.has_value());
      EXPECT_EQ(Json::parse(reply->body)["choices"], plain[static_cast<size_t>(number)]);
    }
  };
  const auto given_up = [&] {
    return Metric("cairn_disk_given_up_total") + MetricOf(*one, "cairn_disk_given_up_total");
  };
  // On a slow machine it takes more than one round until either has written more than fits.
  constexpr int kRoundsMax = 10;
  for (int round = 0; round < kRoundsMax && (round == 0 || given_up() == 0); ++round) {
    std::thread beside([&] { play(*one); });
    play(*server_);
    beside.join();
  }
  EXPECT_GT(given_up(), 0);
  EXPECT_EQ(Metric("cairn_disk_corrupt_total") + MetricOf(*one, "cairn_disk_corrupt_total"), 0);
}

TEST_F(RestartTest, NothingIsKeptWhereTheBudgetIsNothing) {
  Start({"--cache-disk", "0"});
  Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(RestartTest, AFolderThatCannotBeUsedIsSaidAndTheServerGoesOn) {
  folder_ = "/proc/no-such-folder";
  Start({"--save-after-ms", "0"});
  Ask(FirstTurn());
  constexpr std::chrono::milliseconds kStep(50);
  for (std::chrono::milliseconds waited(0); waited < std::chrono::minutes(1); waited += kStep) {
    if (Metric("cairn_disk_errors_total") > 0) break;
    std::this_thread::sleep_for(kStep);
  }
  EXPECT_GT(Metric("cairn_disk_errors_total"), 0);
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_NE(server_->LastLines().find("/proc/no-such-folder"), std::string::npos)
      << server_->LastLines();
}

}  // namespace
}  // namespace cairn
