// Proxy: has a request answered by a model's process, and passes the answer on.
//
//   client ── request ──> router ── the same request, with the client's key ──> process
//          <── each piece of the answer as it comes ── the process's answer ──
//
// The process has the same keys and puts the request into the same namespace as a single server
// would. When the client disconnects, the process's connection is closed, which cancels the answer
// there. If the process dies, the client gets a 503, or, in the middle of a stream, an error event.
//
// Thread-safe.

#ifndef CAIRN_FLEET_ROUTER_PROXY_H_
#define CAIRN_FLEET_ROUTER_PROXY_H_

#include <memory>
#include <string>

#include "fleet/router/children/model_set.h"
#include "http/keys.h"
#include "http/server.h"

namespace cairn {

class Proxy {
 public:
  // `keys` are those of the router's server; null if there are none.
  explicit Proxy(std::shared_ptr<const ApiKeys> keys) : keys_(std::move(keys)) {}

  // Waits for the answer's head, and for all of an answer that is no stream. A stream keeps the
  // lease until its end. If the process takes no connections, the lease says so, and the request
  // may be forwarded to the next process.
  HttpResponse Forward(const HttpRequest& request, std::shared_ptr<ModelLease> lease) const;

 private:
  std::string KeyOf(const HttpRequest& request) const;

  const std::shared_ptr<const ApiKeys> keys_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_PROXY_H_
