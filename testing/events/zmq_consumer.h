// ZmqConsumer: subscribes to KV events on real sockets and follows them by llm-d's rules: a number
// that falls back means that the server has begun anew, and what was missed is asked for. It reads
// msgpack by another library than the server writes it.

#ifndef CAIRN_TESTING_EVENTS_ZMQ_CONSUMER_H_
#define CAIRN_TESTING_EVENTS_ZMQ_CONSUMER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/events/kv_event.h"
#include "testing/events/event_consumer.h"

namespace cairn::test {

// Reads the events of a payload. Fails the test where a field is missing or of another type.
std::vector<KvEvent> UnpackEvents(const std::string& payload);

class ZmqConsumer {
 public:
  // `replay` may be empty.
  ZmqConsumer(const std::string& events, const std::string& replay);
  ~ZmqConsumer();
  ZmqConsumer(const ZmqConsumer&) = delete;
  ZmqConsumer& operator=(const ZmqConsumer&) = delete;

  // Takes batches until `done` holds, for at most half a minute; returns whether it does.
  bool TakeUntil(const std::function<bool()>& done);
  // Sends any message to the server's replay socket.
  void SendToReplay(const std::vector<std::string>& frames);
  // Asks for all batches, and takes them.
  void ReplayAll();

  const EventConsumer& known() const { return known_; }
  const std::string& topic() const { return topic_; }
  uint64_t batches() const { return batches_; }    // that were taken
  uint64_t restarts() const { return restarts_; }  // that were seen
  uint64_t replays() const { return replays_; }    // that were asked for
  // All bytes that came in.
  const std::string& received() const { return received_; }

 private:
  struct Sockets;
  struct Batch {
    std::string topic;
    uint64_t number = 0;
    std::string payload;
  };

  // Returns nullopt if none comes within a tenth of a second.
  std::optional<Batch> Next();
  void See(const Batch& batch);
  void Take(const Batch& batch);
  void Replay(uint64_t first);

  const std::unique_ptr<Sockets> sockets_;
  EventConsumer known_;
  std::string topic_;
  std::string received_;
  std::optional<uint64_t> last_;
  uint64_t batches_ = 0;
  uint64_t restarts_ = 0;
  uint64_t replays_ = 0;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_EVENTS_ZMQ_CONSUMER_H_
