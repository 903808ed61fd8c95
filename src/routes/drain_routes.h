// The routes of a drain: GET, POST and DELETE /cairn/drain, /health, and the 503 of requests that
// come while the server drains (api/admin/drain.h).

#ifndef CAIRN_ROUTES_DRAIN_ROUTES_H_
#define CAIRN_ROUTES_DRAIN_ROUTES_H_

#include "http/server.h"
#include "routes/routes.h"

namespace cairn {

// Wraps the handler of a route that computes: while the server drains, it answers 503. Otherwise
// the drain waits until the answer has been sent. `served` outlives the server.
HttpHandler UnlessDraining(Served* served, HttpHandler handler);

// Answers 503 while the server drains. REQUIRES: the model is loaded.
HttpResponse HealthResponse(const Served& served);

// REQUIRES: before server->Bind().
void AddDrainRoutes(HttpServer* server, Served* served);

}  // namespace cairn

#endif  // CAIRN_ROUTES_DRAIN_ROUTES_H_
