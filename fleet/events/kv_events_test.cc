// On real sockets of libzmq, on loopback.

#include "fleet/events/kv_events.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fleet/events/pseudonymous_ids.h"
#include "testing/events/zmq_consumer.h"

namespace cairn::kv_events_test {
namespace {

using test::EventConsumer;
using test::ZmqConsumer;

PrefixChange PutOf(uint64_t part, Tokens tokens) {
  PrefixChange change;
  change.part = part;
  change.tokens = std::move(tokens);
  change.resumable = true;
  return change;
}

PrefixChange GoneOf(uint64_t part) {
  PrefixChange change;
  change.kind = PrefixChange::Kind::kGone;
  change.part = part;
  return change;
}

// A program that speaks as much of ZeroMQ's protocol as it needs to be a nuisance.
class RawPeer {
 public:
  // `endpoint`: tcp://127.0.0.1:PORT.
  explicit RawPeer(const std::string& endpoint) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    // Version 3.0, without a secret.
    std::string greeting("\xFF\0\0\0\0\0\0\0\x01\x7F\x03\0NULL", 16);
    greeting.resize(64, '\0');
    Send(greeting);
  }
  ~RawPeer() { close(socket_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  // Announces a frame, and sends its first bytes.
  void BeginFrame(uint64_t bytes) {
    std::string head(1, '\x02');
    for (int shift = 56; shift >= 0; shift -= 8) head.push_back(static_cast<char>(bytes >> shift));
    Send(head + "begin");
  }
  // Waits for half a minute at most.
  bool WaitUntilClosed() const {
    char buffer[256];
    pollfd ready = {socket_, POLLIN, 0};
    while (poll(&ready, 1, 30'000) > 0) {
      if (recv(socket_, buffer, sizeof(buffer), 0) <= 0) return true;
    }
    return false;
  }
  bool connected() const { return connected_; }

 private:
  void Send(const std::string& bytes) {
    connected_ = connected_ && send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                                   static_cast<ssize_t>(bytes.size());
  }

  const int socket_;
  bool connected_ = false;
};

class KvEventsTest : public ::testing::Test {
 protected:
  KvEventsTest() {
    options_.events = "tcp://127.0.0.1:0";
    options_.replay = "tcp://127.0.0.1:0";
    options_.topic = "kv@127.0.0.1:8080@model";
    options_.batch_ms = 1;
  }

  void Start() {
    events_.reset();
    auto events = KvEvents::Start(options_);
    ASSERT_TRUE(events.has_value()) << events.error().message;
    events_ = *std::move(events);
    // As a server that comes back at its old address.
    options_.events = events_->events_endpoint();
    options_.replay = events_->replay_endpoint();
  }
  std::unique_ptr<ZmqConsumer> Consume() const {
    return std::make_unique<ZmqConsumer>(events_->events_endpoint(), events_->replay_endpoint());
  }
  void Report(PrefixChange change) const {
    std::vector<PrefixChange> changes;
    changes.push_back(std::move(change));
    events_->OnChanges(std::move(changes));
  }
  // Waits until all that was reported is published.
  bool WaitForBlocks(size_t blocks) const {
    const SteadyClock clock;
    const double end_ms = clock.NowMs() + 30'000;
    const auto memory = static_cast<size_t>(PrefixTier::kMemory);
    while (events_->stats().blocks.at(memory) != blocks && clock.NowMs() < end_ms) {
      std::this_thread::yield();
    }
    return events_->stats().blocks.at(memory) == blocks;
  }

  KvEventsOptions options_;
  std::unique_ptr<KvEvents> events_;
};

TEST_F(KvEventsTest, AConsumerThatComesLateAsksForWhatWasPublishedBefore) {
  Start();
  Report(PutOf(1, Tokens(640, 'a')));
  ASSERT_TRUE(WaitForBlocks(10));
  const auto consumer = Consume();
  consumer->ReplayAll();
  EXPECT_EQ(consumer->known().blocks(), 10u);
  EXPECT_EQ(consumer->topic(), "kv@127.0.0.1:8080@model");
  EXPECT_EQ(events_->stats().replays, 1u);
}

// libzmq allocates the length that is announced.
TEST_F(KvEventsTest, WhoAnnouncesALongFrameIsDisconnected) {
  Start();
  for (const std::string& endpoint : {events_->events_endpoint(), events_->replay_endpoint()}) {
    SCOPED_TRACE(endpoint);
    RawPeer peer(endpoint);
    peer.BeginFrame(uint64_t{1500} << 20);
    ASSERT_TRUE(peer.connected());
    EXPECT_TRUE(peer.WaitUntilClosed());
  }
  // The others notice nothing.
  Report(PutOf(1, Tokens(640, 'a')));
  ASSERT_TRUE(WaitForBlocks(10));
  const auto consumer = Consume();
  consumer->ReplayAll();
  EXPECT_EQ(consumer->known().blocks(), 10u);
}

TEST_F(KvEventsTest, AConsumerFollowsWhatComesAndGoes) {
  Start();
  const auto consumer = Consume();
  // Subscriptions take a moment; until then batches are missed, and asked for.
  Token letter = 'a';
  ASSERT_TRUE(consumer->TakeUntil([&] {
    Report(PutOf(1, Tokens(128, letter++)));
    return consumer->batches() > 0;
  }));
  Report(PutOf(2, Tokens(640, 'x')));
  ASSERT_TRUE(consumer->TakeUntil([&] { return consumer->known().blocks() == 12; }));
  Report(GoneOf(2));
  ASSERT_TRUE(consumer->TakeUntil([&] { return consumer->known().blocks() == 2; }));
  EXPECT_EQ(consumer->restarts(), 0u);
  events_.reset();
  ASSERT_TRUE(consumer->TakeUntil([&] { return consumer->known().blocks() == 0; }))
      << "a server that ends says so";
}

TEST_F(KvEventsTest, AConsumerSeesThatTheServerBeganAnew) {
  Start();
  const auto consumer = Consume();
  Token letter = 'a';
  ASSERT_TRUE(consumer->TakeUntil([&] {
    Report(PutOf(1, Tokens(128, letter++)));
    return consumer->batches() > 5;
  }));
  Start();
  letter = 'a';
  ASSERT_TRUE(consumer->TakeUntil([&] {
    Report(PutOf(1, Tokens(192, letter++)));
    return consumer->restarts() > 0 && consumer->known().blocks() == 3;
  }));
}

TEST_F(KvEventsTest, AFullLogGivesWayToTheWholeSetAnew) {
  options_.log_batches_max = 20;
  Start();
  Report(PutOf(1, Tokens(640, 'x')));
  const auto consumer = Consume();
  Token letter = 1000;
  ASSERT_TRUE(consumer->TakeUntil([&] {
    Report(PutOf(2, Tokens(128, letter++)));
    return events_->stats().resets >= 3;
  }));
  Report(GoneOf(2));
  ASSERT_TRUE(WaitForBlocks(10));
  ASSERT_TRUE(consumer->TakeUntil([&] { return consumer->known().blocks() == 10; }));
  EXPECT_GT(consumer->restarts(), 0u);
  const auto late = Consume();
  late->ReplayAll();
  EXPECT_EQ(late->known().prefixes(), consumer->known().prefixes());
  EXPECT_LE(late->batches(), 21u);
}

TEST_F(KvEventsTest, AQuietServerLetsConsumersSeeThatTheyMissedSomething) {
  options_.quiet_ms = 5;
  Start();
  Report(PutOf(1, Tokens(640, 'x')));
  ASSERT_TRUE(WaitForBlocks(10));
  const auto consumer = Consume();
  EXPECT_TRUE(consumer->TakeUntil([&] { return consumer->known().blocks() == 10; }));
}

TEST_F(KvEventsTest, SeveralConsumersGetALongReplayBesideLiveBatches) {
  Start();
  const size_t parts = 3000;
  for (size_t i = 0; i < parts; ++i) {
    Report(PutOf(1 + i, Tokens(64, static_cast<Token>(i))));
    if (i % 10 > 0) continue;
    ASSERT_TRUE(WaitForBlocks(i + 1));
  }
  ASSERT_TRUE(WaitForBlocks(parts));
  const auto first = Consume();
  const auto second = Consume();
  first->ReplayAll();
  Report(PutOf(parts + 1, Tokens(64, 1'000'000)));
  second->ReplayAll();
  ASSERT_TRUE(first->TakeUntil([&] { return first->known().blocks() == parts + 1; }));
  ASSERT_TRUE(second->TakeUntil([&] { return second->known().blocks() == parts + 1; }));
}

TEST_F(KvEventsTest, WhatIsNoRequestIsSkipped) {
  Start();
  Report(PutOf(1, Tokens(64, 'x')));
  ASSERT_TRUE(WaitForBlocks(1));
  const auto consumer = Consume();
  consumer->SendToReplay({"nonsense"});
  consumer->SendToReplay({"", "short"});
  consumer->SendToReplay({"", "12345678", "one more"});
  consumer->ReplayAll();
  EXPECT_EQ(consumer->known().blocks(), 1u);
}

TEST_F(KvEventsTest, AnAddressInUseIsAnErrorThatNamesIt) {
  Start();
  const auto again = KvEvents::Start(options_);
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().message.find(options_.events), std::string::npos);
}

// In msgpack: a number of 32 bits that 16 do not hold.
constexpr char kLargeNumber = static_cast<char>(0xce);

std::string Packed(TokenSpan tokens) {
  std::string packed;
  for (const Token token : tokens) {
    packed.push_back(kLargeNumber);
    for (int shift = 24; shift >= 0; shift -= 8) {
      packed.push_back(static_cast<char>(token >> shift));
    }
  }
  return packed;
}

// The stream of 1,000 prompts of random tokens: no four of their tokens in a row are in it.
TEST_F(KvEventsTest, NoTokenIsInAPseudonymousStream) {
  options_.ids = PseudonymousIds("a secret of some length");
  Start();
  std::mt19937_64 random(1);
  std::vector<Tokens> prompts;
  for (uint64_t i = 0; i < 1000; ++i) {
    Tokens& prompt = prompts.emplace_back(64 + random() % 400);
    for (Token& token : prompt) token = static_cast<Token>(70'000 + random() % 80'000);
    Report(PutOf(1 + i, prompt));
  }
  size_t blocks = 0;
  for (const Tokens& prompt : prompts) blocks += prompt.size() / kEventBlockTokens;
  ASSERT_TRUE(WaitForBlocks(blocks));
  const auto consumer = Consume();
  consumer->ReplayAll();
  ASSERT_EQ(consumer->known().blocks(), blocks);
  EXPECT_GT(consumer->received().size(), blocks * kEventBlockTokens * 4);
  // The bytes of all windows of the stream that could be four such numbers.
  constexpr size_t kBytes = 4 * 5;
  const std::string_view stream = consumer->received();
  std::unordered_set<std::string_view> windows;
  for (size_t at = 0; at + kBytes <= stream.size(); ++at) {
    if (stream[at] == kLargeNumber) windows.insert(stream.substr(at, kBytes));
  }
  EXPECT_GT(windows.size(), blocks);
  for (const Tokens& prompt : prompts) {
    for (size_t at = 0; at + 4 <= prompt.size(); ++at) {
      ASSERT_FALSE(windows.contains(Packed(TokenSpan(prompt).subspan(at, 4))));
    }
  }
}

}  // namespace
}  // namespace cairn::kv_events_test
