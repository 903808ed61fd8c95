#include "testing/events/zmq_consumer.h"

#include <gtest/gtest.h>
#include <zmq.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"

namespace cairn::test {
namespace {

constexpr int kWaitMs = 100;
constexpr double kPatienceMs = 30'000;

// Empty if none comes in time.
std::vector<std::string> Receive(void* socket) {
  std::vector<std::string> frames;
  int more = 1;
  while (more != 0) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket, 0) < 0) {
      zmq_msg_close(&message);
      return {};
    }
    frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    more = zmq_msg_more(&message);
    zmq_msg_close(&message);
  }
  return frames;
}

uint64_t NumberOf(const std::string& frame) {
  EXPECT_EQ(frame.size(), 8u);
  uint64_t number = 0;
  for (const char byte : frame) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

std::string FrameOf(uint64_t number) {
  std::string frame;
  for (int shift = 56; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>(number >> static_cast<unsigned>(shift)));
  }
  return frame;
}

PrefixTier TierNamed(const std::string& medium) {
  for (const auto tier : {PrefixTier::kSlot, PrefixTier::kMemory, PrefixTier::kDisk}) {
    if (MediumName(tier) == medium) return tier;
  }
  ADD_FAILURE() << "no medium: " << medium;
  return PrefixTier::kMemory;
}

KvEvent Unpack(const nlohmann::json& packed) {
  KvEvent event;
  const std::string type = packed.at("type");
  if (type == "AllBlocksCleared") {
    event.kind = KvEvent::Kind::kCleared;
    return event;
  }
  event.blocks = packed.at("block_hashes").get<std::vector<uint64_t>>();
  event.tier = TierNamed(packed.at("medium"));
  if (type == "BlockRemoved") {
    event.kind = KvEvent::Kind::kRemoved;
    return event;
  }
  EXPECT_EQ(type, "BlockStored");
  EXPECT_EQ(packed.at("block_size"), kEventBlockTokens);
  EXPECT_TRUE(packed.at("lora_id").is_null());
  EXPECT_TRUE(packed.at("lora_name").is_null());
  event.token_ids = packed.at("token_ids").get<std::vector<uint32_t>>();
  const auto& parent = packed.at("parent_block_hash");
  if (!parent.is_null()) event.parent = parent.get<uint64_t>();
  return event;
}

}  // namespace

std::vector<KvEvent> UnpackEvents(const std::string& payload) {
  const auto batch = nlohmann::json::from_msgpack(payload);
  EXPECT_EQ(batch.size(), 3u);
  EXPECT_TRUE(batch.at(0).is_number_float());
  EXPECT_EQ(batch.at(2), 0);
  std::vector<KvEvent> events;
  for (const auto& packed : batch.at(1)) events.push_back(Unpack(packed));
  return events;
}

struct ZmqConsumer::Sockets {
  Sockets() : context(zmq_ctx_new()) {}
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  ~Sockets() {
    for (void* const socket : {events, replay}) {
      if (socket != nullptr) zmq_close(socket);
    }
    zmq_ctx_term(context);
  }
  void* Open(int type, const std::string& endpoint) const {
    void* const socket = zmq_socket(context, type);
    const int none = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &kWaitMs, sizeof kWaitMs);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &none, sizeof none);
    if (type == ZMQ_SUB) zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "kv@", 3);
    EXPECT_EQ(zmq_connect(socket, endpoint.c_str()), 0) << endpoint;
    return socket;
  }

  void* const context;
  void* events = nullptr;
  void* replay = nullptr;
};

ZmqConsumer::ZmqConsumer(const std::string& events, const std::string& replay)
    : sockets_(std::make_unique<Sockets>()) {
  sockets_->events = sockets_->Open(ZMQ_SUB, events);
  if (!replay.empty()) sockets_->replay = sockets_->Open(ZMQ_DEALER, replay);
}

ZmqConsumer::~ZmqConsumer() = default;

bool ZmqConsumer::TakeUntil(const std::function<bool()>& done) {
  const SteadyClock clock;
  const double end_ms = clock.NowMs() + kPatienceMs;
  while (!done() && clock.NowMs() < end_ms) {
    if (const std::optional<Batch> batch = Next()) See(*batch);
  }
  return done();
}

std::optional<ZmqConsumer::Batch> ZmqConsumer::Next() {
  std::vector<std::string> frames = Receive(sockets_->events);
  if (frames.empty()) return std::nullopt;
  EXPECT_EQ(frames.size(), 3u);
  return Batch{frames.at(0), NumberOf(frames.at(1)), frames.at(2)};
}

void ZmqConsumer::See(const Batch& batch) {
  if (last_ && batch.number < *last_) {
    ++restarts_;
    known_ = {};
    last_.reset();
  }
  if (last_ && batch.number == *last_) return;
  const uint64_t next = last_ ? *last_ + 1 : 0;
  if (batch.number != next && sockets_->replay != nullptr) Replay(next);
  if (last_ && batch.number <= *last_) return;
  Take(batch);
}

void ZmqConsumer::Take(const Batch& batch) {
  topic_ = batch.topic;
  last_ = batch.number;
  received_ += batch.payload;
  ++batches_;
  for (const KvEvent& event : UnpackEvents(batch.payload)) known_.Apply(event);
}

void ZmqConsumer::SendToReplay(const std::vector<std::string>& frames) {
  for (size_t i = 0; i < frames.size(); ++i) {
    const int flags = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
    EXPECT_GE(zmq_send(sockets_->replay, frames[i].data(), frames[i].size(), flags), 0);
  }
}

void ZmqConsumer::ReplayAll() {
  known_ = {};
  last_.reset();
  Replay(0);
}

void ZmqConsumer::Replay(uint64_t first) {
  ++replays_;
  SendToReplay({"", FrameOf(first)});
  for (uint64_t expected = first;; ++expected) {
    std::vector<std::string> frames = Receive(sockets_->replay);
    // The answer may take a moment to begin.
    for (int tries = 0; frames.empty() && tries < 100; ++tries) {
      frames = Receive(sockets_->replay);
    }
    ASSERT_EQ(frames.size(), 4u);
    ASSERT_EQ(frames[0], "");
    if (frames[3].empty()) {
      EXPECT_EQ(frames[1], "");
      EXPECT_EQ(NumberOf(frames[2]), UINT64_MAX);
      return;
    }
    ASSERT_EQ(NumberOf(frames[2]), expected) << "the replay has a gap";
    Take({frames[1], expected, frames[3]});
  }
}

}  // namespace cairn::test
