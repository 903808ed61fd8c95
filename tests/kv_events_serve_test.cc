// `cairn serve --kv-events`, on a synthetic hybrid model, and a router that follows its events.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "served.h"
#include "testing/events/zmq_consumer.h"
#include "testing/remote/real_server.h"

namespace cairn {
namespace {

using test::EventConsumer;
using test::FirstTurn;
using test::Flags;
using test::Join;
using test::NextTurn;
using test::ZmqConsumer;

class KvEventsServeTest : public test::ServedTest {
 protected:
  void ServeEvents(const Flags& flags = {}) {
    Serve(Join({"--kv-events", "tcp://127.0.0.1:0", "--kv-events-replay", "tcp://127.0.0.1:0"},
               flags));
    router_ = std::make_unique<ZmqConsumer>(EndpointAfter("KV events at "),
                                            EndpointAfter(", replays at "));
  }

  // The ids of the prompt of a chat.
  EventConsumer::Ids Render(const Json& body) const {
    const HttpReply reply = Post("/v1/chat/completions/render", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EventConsumer::Ids ids;
    const Json rendered = Json::parse(reply.body);
    for (const Json& id : rendered["token_ids"]) ids.push_back(id.get<uint32_t>());
    return ids;
  }
  // How many of the ids a router finds in a tier, by all events so far.
  size_t Known(const EventConsumer::Ids& ids, PrefixTier tier) const {
    router_->ReplayAll();
    size_t known = 0;
    for (const auto& [of, prefix] : router_->known().prefixes()) {
      const bool begins =
          prefix.size() <= ids.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
      if (begins && of == tier) known = std::max(known, prefix.size());
    }
    return known;
  }
  static size_t CachedTokens(const Json& reply) {
    return reply["usage"]["prompt_tokens_details"]["cached_tokens"].get<size_t>();
  }

  // From the line that the server logged last.
  std::string EndpointAfter(const std::string& text) const {
    const std::string log = ReadFile(log_).value_or("");
    const size_t begin = log.rfind(text);
    EXPECT_NE(begin, std::string::npos) << log;
    if (begin == std::string::npos) return "";
    const size_t end = log.find(',', begin + text.size());
    return log.substr(begin + text.size(), end - begin - text.size());
  }

  std::unique_ptr<ZmqConsumer> router_;
};

TEST_F(KvEventsServeTest, ARouterFindsTheNextTurnWhereTheServerResumesIt) {
  ServeEvents({"--cache-disk", "0"});
  const Json first = FirstTurn();
  EXPECT_EQ(Known(Render(first), PrefixTier::kSlot), 0u);
  const Json answer = Ask(first);
  const Json second = NextTurn(first, answer);
  const EventConsumer::Ids ids = Render(second);
  ASSERT_GT(ids.size(), 1500u);
  WaitUntil("the router knows the conversation",
            [&] { return Known(ids, PrefixTier::kSlot) > 1500; });
  const size_t known = std::max(Known(ids, PrefixTier::kSlot), Known(ids, PrefixTier::kMemory));
  const size_t reused = CachedTokens(Ask(second));
  EXPECT_GT(reused, 1500u);
  EXPECT_GE(known, reused / kEventBlockTokens * kEventBlockTokens);
  EXPECT_EQ(router_->topic().rfind("kv@127.0.0.1:", 0), 0u) << router_->topic();
}

TEST_F(KvEventsServeTest, ARouterFindsConversationsOnDiskAfterARestart) {
  const Flags flags = {"--cache-dir", files_ + "/cache", "--no-warm"};
  ServeEvents(flags);
  const Json first = FirstTurn();
  const Json second = NextTurn(first, Ask(first));
  WaitUntilSaved();
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeEvents(flags);
  const EventConsumer::Ids ids = Render(second);
  WaitUntil("the router knows the files", [&] { return Known(ids, PrefixTier::kDisk) > 1000; });
  const size_t known = Known(ids, PrefixTier::kDisk);
  const size_t reused = CachedTokens(Ask(second));
  EXPECT_GE(known, reused / kEventBlockTokens * kEventBlockTokens);
  EXPECT_LE(known, reused + kEventBlockTokens);
  WaitUntil("the router knows that it is in a slot",
            [&] { return Known(ids, PrefixTier::kSlot) > 1000; });
}

TEST_F(KvEventsServeTest, WithASecretARouterFindsTheSameAndReadsNothing) {
  const std::string secret = files_ + "/secret";
  std::ofstream(secret) << "0123456789abcdef0123456789abcdef\n";
  ServeEvents({"--cache-disk", "0", "--kv-events-secret-file", secret});
  const std::string header = "the lighthouse keeper keeps a lighthouse " + std::string(600, 'h');
  const Json body = {{"max_tokens", 4}, {"messages", {{{"role", "user"}, {"content", header}}}}};
  Ask(body);
  const EventConsumer::Ids ids = Render(body);
  WaitUntil("the router knows the prompt", [&] { return Known(ids, PrefixTier::kSlot) > 500; });
  // The made model's tokens are bytes.
  for (const char* word : {"lighthouse", "keeper", "hhhhhhhh"}) {
    EXPECT_EQ(router_->received().find(word), std::string::npos) << word;
  }
  EXPECT_GT(*std::max_element(ids.begin(), ids.end()), 1'000'000u);
  EXPECT_EQ(Get("/props").body.find("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(ReadFile(log_).value_or("").find("0123456789abcdef"), std::string::npos);
}

// A router's index that others wrote: the wheel ai-dynamo-runtime.
TEST_F(KvEventsServeTest, DynamosIndexerFindsTheNextTurnWhereTheServerResumesIt) {
  const std::string python = test::FindProgram("CAIRN_DYNAMO_PYTHON", {});
  if (python.empty()) {
    GTEST_SKIP() << "CAIRN_DYNAMO_PYTHON names no Python that has dynamo.indexer";
  }
  const std::string secret = files_ + "/secret";
  std::ofstream(secret) << "0123456789abcdef0123456789abcdef\n";
  ServeEvents({"--cache-disk", "0", "--kv-events-secret-file", secret});
  const uint16_t port = test::FreePort();
  test::RealServer indexer({python, "-m", "dynamo.indexer", "--port", std::to_string(port)}, port);
  ASSERT_TRUE(indexer.WaitUntilListening(60))
      << ReadFile(indexer.folder() + "/log").value_or("no log");
  const HttpClient client("http://127.0.0.1:" + std::to_string(port));
  const auto ask = [&](const char* path, Json body) {
    body["model_name"] = "made";
    const auto reply = client.Post(path, body.dump());
    EXPECT_TRUE(reply && reply->status / 100 == 2) << path << (reply ? reply->body : "");
    return reply ? Json::parse(reply->body) : Json();
  };
  ask("/register", {{"instance_id", 7},
                    {"endpoint", EndpointAfter("KV events at ")},
                    {"replay_endpoint", EndpointAfter(", replays at ")},
                    {"block_size", kEventBlockTokens}});
  const Json first = FirstTurn();
  const Json second = NextTurn(first, Ask(first));
  size_t known = 0;
  WaitUntil("the indexer knows the conversation", [&] {
    const Json found = ask("/query", {{"token_ids", Render(second)}});
    known = found["instances"].value("7", Json::object()).value("longest_matched", size_t{0});
    return known > 1500;
  });
  const size_t reused = CachedTokens(Ask(second));
  EXPECT_GE(known, reused / kEventBlockTokens * kEventBlockTokens);
}

TEST_F(KvEventsServeTest, OtherMachinesGetNoTokensWithoutASecret) {
  const std::string refusal = Refusal({"--kv-events", "tcp://0.0.0.0:5557"}, "/no/model.gguf");
  EXPECT_NE(refusal.find("--kv-events-secret-file"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace cairn
