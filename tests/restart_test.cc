// `cairn serve` is stopped, killed and restarted: its checkpoints come back from the folder.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "served.h"
#include "store/codec/codec.h"
#include "store/folder/object_folder.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::MetricOf;
using test::NextTurn;
using test::ReadTokens;

class RestartTest : public test::ServedTest {
 protected:
  void ServeCached(const Flags& flags = {}) { Serve(Join({"--cache-dir", folder_}, flags)); }

  // Returns the names of the codecs of the files there.
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

  // Returns the bytes of the objects of a kind there.
  size_t BytesInFolder(ObjectKind kind) const {
    const std::unique_ptr<Fs> fs = MakeRealFs();
    const auto contents = ObjectFolder(fs.get(), folder_).Scan({});
    EXPECT_TRUE(contents.has_value());
    size_t bytes = 0;
    for (const FoundObject& object : contents->objects) {
      if (object.header.kind == kind) bytes += object.header.raw_bytes;
    }
    return bytes;
  }

  std::string folder_ = files_ + "/cache";
};

TEST_F(RestartTest, AConversationGoesOnAfterTheServerWasEnded) {
  ServeCached({"-t", "2"});
  const Json reply = Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeCached({"-t", "2"});
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, AConversationGoesOnAfterTheServerWasKilledOnceNothingIsUnsynced) {
  ServeCached();
  const Json reply = Ask(FirstTurn());
  WaitUntilSaved();
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->WaitForExit(10'000), 128 + SIGKILL);
  ServeCached();
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, AnswersAreTheSameAsWithoutACache) {
  const Flags exact = {"--reuse", "exact"};
  ServeCached(exact);
  const Json body = NextTurn(FirstTurn(), Ask(FirstTurn()));
  ASSERT_EQ(server_->Stop(), 0);
  ServeCached(exact);
  const Json reused = Ask(body);
  EXPECT_LT(ReadTokens(reused), kNewTokensMax + 16);
  ASSERT_EQ(server_->Stop(), 0);
  ServeCached({"--reuse", "exact", "--cache-ram", "0"});
  const Json cold = Ask(body);
  EXPECT_GT(ReadTokens(cold), 1500);
  EXPECT_EQ(cold["choices"][0]["message"], reused["choices"][0]["message"]);
}

Json TurnAbout(const std::string& subject) {
  Json body = FirstTurn(16, 3000);
  body["messages"][1]["content"] = "a question about " + subject;
  return body;
}

// With several slots, `exact` gives each a KV stream of its own.
TEST_F(RestartTest, ExactSlotsShareASystemPrefixInMemoryAndOnDisk) {
  const Flags exact = {"--reuse", "exact", "-np", "4", "-c", "16384"};
  const std::vector<Json> talks = {TurnAbout("water"), TurnAbout("stones"), TurnAbout("trees"),
                                   TurnAbout("wind")};
  ServeCached(exact);
  std::vector<Json> replies = {Ask(talks[0])};
  EXPECT_GT(ReadTokens(replies[0]), 3000);
  WaitUntilSaved();
  const size_t bytes_of_one = BytesInFolder(ObjectKind::kSegment);
  for (size_t i = 1; i < talks.size(); ++i) {
    replies.push_back(Ask(talks[i]));
    EXPECT_LT(ReadTokens(replies[i]), kNewTokensMax);
  }
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  EXPECT_GT(bytes_of_one, 0U);
  EXPECT_LT(BytesInFolder(ObjectKind::kSegment), bytes_of_one * 3 / 2);
  EXPECT_EQ(BytesInFolder(ObjectKind::kFullState), 0U);
  ServeCached(exact);
  std::vector<Json> next;
  for (size_t i = 0; i < talks.size(); ++i) {
    next.push_back(Ask(NextTurn(talks[i], replies[i])));
    EXPECT_LT(ReadTokens(next[i]), kNewTokensMax + 16) << server_->LastLines();
  }
  EXPECT_LT(ReadTokens(Ask(TurnAbout("fire"))), kNewTokensMax);
  ASSERT_EQ(server_->Stop(), 0);
  ServeCached({"--reuse", "exact", "--cache-ram", "0"});
  for (size_t i = 0; i < talks.size(); ++i) {
    const Json cold = Ask(NextTurn(talks[i], replies[i]));
    EXPECT_EQ(cold["choices"][0]["message"], next[i]["choices"][0]["message"]);
  }
}

TEST_F(RestartTest, AConversationGoesOnWithEveryCodec) {
  for (const char* codec : {"raw", "lossless"}) {
    SCOPED_TRACE(codec);
    server_.reset();  // its destructor waits for pending writes
    std::filesystem::remove_all(folder_);
    ServeCached({"--codec", codec});
    const Json reply = Ask(FirstTurn());
    ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
    EXPECT_TRUE(CodecsInFolder().contains(codec));
    ServeCached({"--codec", codec});
    const Json next = Ask(NextTurn(FirstTurn(), reply));
    EXPECT_LT(ReadTokens(next), kNewTokensMax) << server_->LastLines();
    EXPECT_EQ(Metric("cairn_disk_corrupt_total"), 0);
  }
}

TEST_F(RestartTest, AConversationGoesOnWithFilesOfAnotherCodec) {
  Json body = FirstTurn();
  for (const char* codec : {"raw", "lossless", "raw"}) {
    SCOPED_TRACE(codec);
    const bool first = server_ == nullptr;
    ServeCached({"--codec", codec});
    const Json reply = Ask(body);
    if (!first) {
      EXPECT_LT(ReadTokens(reply), kNewTokensMax) << server_->LastLines();
    }
    body = NextTurn(body, reply);
    ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
    EXPECT_TRUE(CodecsInFolder().contains(codec));
  }
}

TEST_F(RestartTest, AServerGoesOnWithWhatAnotherOneReadMeanwhile) {
  ServeCached();
  std::unique_ptr<ServerProcess> other = std::move(server_);
  ServeCached();
  const Json reply = Ask(FirstTurn());
  WaitUntilSaved();
  // One after the other: a state without the segments before it would not do.
  const double written = Metric("cairn_disk_written_total");
  std::swap(server_, other);
  WaitUntil("they are taken in", [&] { return Metric("cairn_cache_discovered_total") >= written; });
  const Json next = Ask(NextTurn(FirstTurn(), reply));
  EXPECT_LT(ReadTokens(next), kNewTokensMax) << server_->LastLines();
}

TEST_F(RestartTest, TwoServersUnderLoadInAFolderThatIsTooSmallForBothAnswerAsWithoutACache) {
  const Flags small = {"--reuse",      "exact", "--save-after-ms", "0",
                       "--cache-disk", "0.001", "--cache-ram",     "8"};
  constexpr int kTurns = 30;
  constexpr int kConversations = 5;
  const auto body_of = [](int number) {
    Json body = FirstTurn();
    body["max_tokens"] = 8;
    body["messages"][0]["content"] = std::string(700, static_cast<char>('a' + number));
    return body;
  };
  ServeCached({"--cache-ram", "0", "--reuse", "exact"});
  std::vector<Json> plain;
  for (int i = 0; i < kConversations; ++i) plain.push_back(Ask(body_of(i))["choices"]);
  ServeCached(small);
  const std::unique_ptr<ServerProcess> one = std::move(server_);
  ServeCached(small);
  const auto play = [&](const ServerProcess& server) {
    for (int turn = 0; turn < kTurns; ++turn) {
      const int number = turn % kConversations;
      const auto reply =
          HttpClient(server.url()).Post("/v1/chat/completions", body_of(number).dump());
      ASSERT_TRUE(reply.has_value());
      EXPECT_EQ(Json::parse(reply->body)["choices"], plain[static_cast<size_t>(number)]);
    }
  };
  const auto evicted = [&] {
    return Metric("cairn_disk_evicted_total") + MetricOf(*one, "cairn_disk_evicted_total");
  };
  // On a slow machine it takes several rounds until either has written more than fits.
  constexpr int kRoundsMax = 10;
  for (int round = 0; round < kRoundsMax && (round == 0 || evicted() == 0); ++round) {
    std::thread beside([&] { play(*one); });
    play(*server_);
    beside.join();
  }
  EXPECT_GT(evicted(), 0);
  EXPECT_EQ(Metric("cairn_disk_corrupt_total") + MetricOf(*one, "cairn_disk_corrupt_total"), 0);
}

TEST_F(RestartTest, NothingIsKeptWhereTheBudgetIsNothing) {
  ServeCached({"--cache-disk", "0"});
  Ask(FirstTurn());
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(RestartTest, AFolderThatCannotBeUsedIsSaidAndTheServerGoesOn) {
  folder_ = "/proc/no-such-folder";
  ServeCached({"--save-after-ms", "0"});
  Ask(FirstTurn());
  WaitUntil("it fails", [&] { return Metric("cairn_disk_errors_total") > 0; });
  ASSERT_EQ(server_->Stop(), 0);
  EXPECT_NE(server_->LastLines().find("/proc/no-such-folder"), std::string::npos)
      << server_->LastLines();
}

}  // namespace
}  // namespace cairn
