// The protocol of Vertex AI's containers, which llama-server speaks too: one route that answers
// several requests at once, each of them one for another route of the server.
//
//   POST /predict {"instances": [{"@requestFormat": "chatCompletions", "messages": […]}, …]}
//   ──>  {"predictions": [{"choices": […]}, …]}
//
// The variables of the environment that the platform sets switch it on: AIP_MODE=PREDICTION, with
// AIP_PREDICT_ROUTE, AIP_HEALTH_ROUTE and AIP_HTTP_PORT. Only routes that answer a client may be
// named, so no instance does what needs an admin's key. Answers are never streamed.

#ifndef CAIRN_ROUTES_PREDICT_ROUTE_H_
#define CAIRN_ROUTES_PREDICT_ROUTE_H_

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/server.h"

namespace cairn {

struct PredictOptions {
  std::string path = "/predict";
  std::string health_path;  // as GET /health; empty: none
  std::optional<int> port;  // in place of --port
};

// Returns nothing unless the environment asks for the protocol. kInvalidArgument for a variable
// that is no path or no port; the message names it.
Result<std::optional<PredictOptions>> PredictOptionsOf(
    const std::map<std::string, std::string>& environment);

// REQUIRES: after the routes of the server, and before server->Bind(). The server outlives its
// requests.
void AddPredictRoute(HttpServer* server, const PredictOptions& options);

}  // namespace cairn

#endif  // CAIRN_ROUTES_PREDICT_ROUTE_H_
