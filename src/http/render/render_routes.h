// The routes that tell routers the tokens of a request (api/render/render.h).

#ifndef CAIRN_HTTP_RENDER_RENDER_ROUTES_H_
#define CAIRN_HTTP_RENDER_RENDER_ROUTES_H_

#include "http/routes.h"
#include "http/server.h"

namespace cairn {

// REQUIRES: as AddRoutes.
void AddRenderRoutes(HttpServer* server, Served* served);

}  // namespace cairn

#endif  // CAIRN_HTTP_RENDER_RENDER_ROUTES_H_
