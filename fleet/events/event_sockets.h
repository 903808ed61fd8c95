// EventSockets: the two ZeroMQ sockets of KV events, on libzmq: PUB, which sends batches to whoever
// subscribes, and ROUTER, which is asked for earlier ones.
//
//   PUB      topic, number, payload
//   ROUTER   asked   "", number
//            answers "", topic, number, payload … and at the end "", "", -1, ""
//
// Numbers are 8 bytes, big-endian.
//
// Threads: Wake from any thread; the rest from one.

#ifndef CAIRN_FLEET_EVENTS_EVENT_SOCKETS_H_
#define CAIRN_FLEET_EVENTS_EVENT_SOCKETS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

class EventSockets {
 public:
  struct Request {
    std::string identity;  // of the consumer's connection
    uint64_t first = 0;    // the number of the first batch that it wants
  };
  enum class Sent { kYes, kLater, kGone };

  // Binds to tcp://ADDRESS:PORT; port 0 is any free one. `replay` may be empty: no replays.
  // kUnavailable with libzmq's reason.
  static Result<std::unique_ptr<EventSockets>> Bind(const std::string& events,
                                                    const std::string& replay);
  ~EventSockets();
  EventSockets(const EventSockets&) = delete;
  EventSockets& operator=(const EventSockets&) = delete;

  // Where the sockets are bound, with their ports.
  std::string events_endpoint() const;
  std::string replay_endpoint() const;

  // Never waits; a consumer that is too slow misses the batch, and sees so by its number.
  void Publish(std::string_view topic, uint64_t number, std::string_view payload);
  // Returns nullopt if there is none. Skips what is no request.
  std::optional<Request> NextRequest();
  // kLater: the consumer has not read the batches before it yet. kGone: it has disconnected.
  Sent Replay(const std::string& identity, std::string_view topic, uint64_t number,
              std::string_view payload);
  Sent EndReplay(const std::string& identity);

  // Returns after `ms_max`, or when there is a request or a Wake; negative: no limit.
  void Wait(double ms_max);
  void Wake();

 private:
  struct Handles;
  explicit EventSockets(std::unique_ptr<Handles> handles);

  const std::unique_ptr<Handles> handles_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_EVENTS_EVENT_SOCKETS_H_
