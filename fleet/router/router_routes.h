// The routes of a router: those of a model's server, each answered by the process of the model that
// the request names, and those of the models themselves.
//
//   model named by        paths
//   the body              POST: chat completions, completions, Messages, Responses, embeddings …
//   ?model=               GET /props, /slots, /cairn/cache …; in other requests too
//   the id in the path    /v1/responses/:id, /cairn/requests/:id …: the process that knows it
//   none                  GET /cairn/requests: all processes, and what the router refused itself
//
// A request that names no model is for the only one there is, or else the only one loaded.

#ifndef CAIRN_FLEET_ROUTER_ROUTER_ROUTES_H_
#define CAIRN_FLEET_ROUTER_ROUTER_ROUTES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "api/admin/refusals.h"
#include "fleet/router/children/model_set.h"
#include "fleet/router/proxy.h"
#include "http/keys.h"
#include "http/server.h"

namespace cairn {

// The parts behind the routes; outlives the server.
struct RouterParts {
  ModelSet* models = nullptr;
  const Proxy* proxy = nullptr;
  std::shared_ptr<const ApiKeys> keys;  // of the server; null if there are none
  size_t models_max = 0;
  bool autoload = true;
  std::string version;
  const Refusals* refusals = nullptr;  // of the router itself; null: they are not counted
  // Reads anew which models there are, as at the start. On an error they stay as they are. Any
  // thread; empty: GET /models?reload=1 changes nothing.
  std::function<Status()> reload = {};
};

// REQUIRES: before server->Bind().
void AddRouterRoutes(HttpServer* server, const RouterParts* parts);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_ROUTER_ROUTES_H_
