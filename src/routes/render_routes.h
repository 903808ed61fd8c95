// The routes that tell routers the tokens of a request (api/render/render.h).

#ifndef CAIRN_ROUTES_RENDER_ROUTES_H_
#define CAIRN_ROUTES_RENDER_ROUTES_H_

#include "http/server.h"
#include "routes/routes.h"

namespace cairn {

// REQUIRES: as AddRoutes.
void AddRenderRoutes(HttpServer* server, Served* served);

}  // namespace cairn

#endif  // CAIRN_ROUTES_RENDER_ROUTES_H_
