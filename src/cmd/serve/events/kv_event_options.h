// KvEventOptions: what the flags of `cairn serve` say about KV events.

#ifndef CAIRN_CMD_SERVE_EVENTS_KV_EVENT_OPTIONS_H_
#define CAIRN_CMD_SERVE_EVENTS_KV_EVENT_OPTIONS_H_

#include <string>

namespace cairn {

struct KvEventOptions {
  std::string events;       // tcp://ADDRESS:PORT; empty: none are published
  std::string replay;       // likewise; empty: no replays
  std::string model;        // empty: the server's name of it
  std::string address;      // HOST:PORT; empty: --host and --port
  std::string secret_file;  // empty: tokens are published as they are
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_EVENTS_KV_EVENT_OPTIONS_H_
