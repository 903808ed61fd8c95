#include "fleet/events/event_sockets.h"

#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cairn {
namespace {

// Batches that wait for a slow consumer, before it misses some: as many as the log has at most.
// They are held once for all consumers.
constexpr int kEventsWaitingMax = 10'000;
// Batches of a replay that wait for their consumer; the rest waits in the log.
constexpr int kReplayWaitingMax = 1'000;
// Nothing is worth waiting for when the server stops.
constexpr int kLingerMs = 200;
constexpr uint64_t kEndOfReplay = UINT64_MAX;
// Consumers send a topic to subscribe to, or a number. libzmq allocates what a frame's length
// says before all of it has arrived, and closes the connection of a longer one.
constexpr int64_t kFrameBytesMax = 4096;
// Requests for replays that wait, of each connection.
constexpr int kRequestsWaitingMax = 16;

using NumberFrame = std::array<char, 8>;

NumberFrame FrameOf(uint64_t number) {
  NumberFrame frame = {};
  for (size_t i = 0; i < frame.size(); ++i) {
    frame.at(i) = static_cast<char>(number >> (8 * (frame.size() - 1 - i)));
  }
  return frame;
}

uint64_t NumberOf(std::string_view frame) {
  uint64_t number = 0;
  for (const char byte : frame) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

std::string_view TextOf(const NumberFrame& frame) {
  return {frame.data(), frame.size()};
}

template <typename Value>
void SetOption(void* socket, int option, Value value) {
  const int set = zmq_setsockopt(socket, option, &value, sizeof value);
  CHECK(set == 0);
}

// libzmq's name for any free port is *.
std::string ForBind(const std::string& endpoint) {
  constexpr std::string_view kAnyPort = ":0";
  if (!endpoint.ends_with(kAnyPort)) return endpoint;
  return endpoint.substr(0, endpoint.size() - 1) + "*";
}

std::string EndpointOf(void* socket) {
  std::array<char, 256> text = {};
  size_t size = text.size();
  if (socket == nullptr) return "";
  if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text.data(), &size) != 0) return "";
  return text.data();
}

// Sends all frames or none.
bool SendAll(void* socket, std::initializer_list<std::string_view> frames) {
  size_t left = frames.size();
  for (const std::string_view frame : frames) {
    const int flags = ZMQ_DONTWAIT | (--left > 0 ? ZMQ_SNDMORE : 0);
    if (zmq_send(socket, frame.data(), frame.size(), flags) < 0) return false;
  }
  return true;
}

// Returns the frames of the next message; empty if there is none.
std::vector<std::string> Receive(void* socket) {
  std::vector<std::string> frames;
  int more = 1;
  while (more != 0) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) < 0) {
      zmq_msg_close(&message);
      return {};
    }
    frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    more = zmq_msg_more(&message);
    zmq_msg_close(&message);
  }
  return frames;
}

}  // namespace

struct EventSockets::Handles {
  Handles() : context(zmq_ctx_new()), wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CHECK(context != nullptr && wake >= 0);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    for (void* const socket : {events, replay}) {
      if (socket != nullptr) zmq_close(socket);
    }
    zmq_ctx_term(context);
    close(wake);
  }

  Status BindTo(int type, const std::string& endpoint, void** socket) const {
    *socket = zmq_socket(context, type);
    CHECK(*socket != nullptr);
    SetOption(*socket, ZMQ_LINGER, kLingerMs);
    SetOption(*socket, ZMQ_SNDHWM, type == ZMQ_PUB ? kEventsWaitingMax : kReplayWaitingMax);
    SetOption(*socket, ZMQ_MAXMSGSIZE, kFrameBytesMax);
    SetOption(*socket, ZMQ_RCVHWM, kRequestsWaitingMax);
    if (endpoint.find('[') != std::string::npos) SetOption(*socket, ZMQ_IPV6, 1);
    if (type == ZMQ_ROUTER) SetOption(*socket, ZMQ_ROUTER_MANDATORY, 1);
    if (zmq_bind(*socket, ForBind(endpoint).c_str()) == 0) return {};
    return Fail(ErrorCode::kUnavailable,
                "cannot publish KV events at " + endpoint + ": " + zmq_strerror(zmq_errno()));
  }

  void* const context;
  const int wake;
  void* events = nullptr;
  void* replay = nullptr;  // null: no replays
};

EventSockets::EventSockets(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
EventSockets::~EventSockets() = default;

Result<std::unique_ptr<EventSockets>> EventSockets::Bind(const std::string& events,
                                                         const std::string& replay) {
  auto handles = std::make_unique<Handles>();
  if (Status bound = handles->BindTo(ZMQ_PUB, events, &handles->events); !bound) {
    return tl::unexpected(bound.error());
  }
  if (!replay.empty()) {
    if (Status bound = handles->BindTo(ZMQ_ROUTER, replay, &handles->replay); !bound) {
      return tl::unexpected(bound.error());
    }
  }
  return std::unique_ptr<EventSockets>(new EventSockets(std::move(handles)));
}

std::string EventSockets::events_endpoint() const {
  return EndpointOf(handles_->events);
}

std::string EventSockets::replay_endpoint() const {
  return EndpointOf(handles_->replay);
}

void EventSockets::Publish(std::string_view topic, uint64_t number, std::string_view payload) {
  SendAll(handles_->events, {topic, TextOf(FrameOf(number)), payload});
}

std::optional<EventSockets::Request> EventSockets::NextRequest() {
  if (handles_->replay == nullptr) return std::nullopt;
  for (;;) {
    std::vector<std::string> frames = Receive(handles_->replay);
    if (frames.empty()) return std::nullopt;
    if (frames.size() != 3 || !frames[1].empty() || frames[2].size() != sizeof(uint64_t)) continue;
    return Request{std::move(frames[0]), NumberOf(frames[2])};
  }
}

EventSockets::Sent EventSockets::Replay(const std::string& identity, std::string_view topic,
                                        uint64_t number, std::string_view payload) {
  if (SendAll(handles_->replay, {identity, "", topic, TextOf(FrameOf(number)), payload})) {
    return Sent::kYes;
  }
  return zmq_errno() == EAGAIN ? Sent::kLater : Sent::kGone;
}

EventSockets::Sent EventSockets::EndReplay(const std::string& identity) {
  return Replay(identity, "", kEndOfReplay, "");
}

void EventSockets::Wait(double ms_max) {
  std::array<zmq_pollitem_t, 2> items = {};
  items[0].fd = handles_->wake;
  items[0].events = ZMQ_POLLIN;
  items[1].socket = handles_->replay;
  items[1].events = ZMQ_POLLIN;
  const int count = handles_->replay == nullptr ? 1 : 2;
  zmq_poll(items.data(), count, ms_max < 0 ? -1 : std::lround(std::ceil(ms_max)));
  uint64_t woken = 0;
  while (read(handles_->wake, &woken, sizeof woken) > 0) {
  }
}

void EventSockets::Wake() {
  const uint64_t one = 1;
  while (write(handles_->wake, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

}  // namespace cairn
