// The routes of the list of requests: GET /cairn/requests, those that were refused among them, one
// request, and the thumbnails of its images.

#ifndef CAIRN_ROUTES_REQUEST_ROUTES_H_
#define CAIRN_ROUTES_REQUEST_ROUTES_H_

#include <functional>
#include <vector>

#include "api/admin/refusals.h"
#include "api/json.h"
#include "http/server.h"
#include "routes/routes.h"

namespace cairn {

// REQUIRES: before server->Bind().
void AddRequestRoutes(HttpServer* server, Served* served);

// The refused requests that the client of `request` sees: its own, and an admin those of clients
// without a key too, such as one that tries keys. Lists as in Refusals::List.
std::vector<Json> RefusedFor(const Refusals& refusals, const HttpRequest& request);
// Returns the one whose id the path names; null if the client sees none.
Json FindRefused(const Refusals& refusals, const HttpRequest& request);

// Returns HttpServerOptions::on_refusal for a server with these refusals, which outlive it.
std::function<void(const HttpRefusal& refusal)> NoteIn(Refusals* refusals);

// The routes that tell routers the tokens of a request (api/render/render.h).

// REQUIRES: as AddRoutes.
void AddRenderRoutes(HttpServer* server, Served* served);

}  // namespace cairn

#endif  // CAIRN_ROUTES_REQUEST_ROUTES_H_
