// The flags of `cairn serve` for KV events (fleet/events/kv_events.h, docs/kv_events.md).

#ifndef CAIRN_CMD_SERVE_EVENTS_KV_EVENT_FLAGS_H_
#define CAIRN_CMD_SERVE_EVENTS_KV_EVENT_FLAGS_H_

#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cmd/serve/base/serve_options.h"
#include "fleet/events/kv_events.h"

namespace CLI {
class App;
}

namespace cairn {

void AddKvEventFlags(CLI::App* serve, KvEventOptions* options);

// The server that publishes.
struct KvEventServer {
  std::string host;  // of --host
  int port = 0;
  std::string model;  // its name of it
};

// kInvalidArgument if the flags do not fit one another; the message says what to do. Reads the file
// with the secret: errors as in ReadFile, and kInvalidArgument if it is too short.
Result<KvEventsOptions> ToKvEventsOptions(const KvEventOptions& options,
                                          const KvEventServer& server);

// Starts to publish; nullptr if the flags ask for nothing. Errors as above, and those of
// KvEvents::Start. `log` gets one line, without the secret.
Result<std::unique_ptr<KvEvents>> StartKvEvents(const KvEventOptions& options,
                                                const KvEventServer& server, const LogSink& log);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_EVENTS_KV_EVENT_FLAGS_H_
