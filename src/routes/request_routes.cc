#include "routes/request_routes.h"

#include <string>
#include <utility>
#include <vector>

#include "api/wall_clock.h"
#include "http/keys.h"
#include "routes/api_response.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {
namespace {

// The number of a key is its namespace.
static_assert(kApiKeysMax == kKeysMax);

std::vector<NamespaceId> SeenBy(const HttpRequest& request) {
  if (request.is_admin) return {request.key_number, 0};
  return {request.key_number};
}

ApiResult<std::string> ListRequests(const Served& served, const HttpRequest& request) {
  return RequestsBody(served.request_log, request.params, request.key_number,
                      RefusedFor(served.refusals, request));
}

ApiResult<std::string> FindRequest(const Served& served, const HttpRequest& request) {
  const Json refused = FindRefused(served.refusals, request);
  if (!refused.is_null()) return ToText(refused);
  return served.request_log.Find(request.captures.at("id"), request.key_number);
}

// Nothing keeps it: a cache between the server and its clients may not know their keys. No page of
// another site may show it either.
HttpResponse Thumbnail(const Served& served, const HttpRequest& request) {
  const auto thumbnail = served.request_log.FindThumbnail(
      request.captures.at("id"), request.captures.at("index"), request.key_number);
  if (!thumbnail) return ErrorResponse(thumbnail.error());
  HttpResponse response;
  response.content_type = "image/png";
  response.body.assign((*thumbnail)->begin(), (*thumbnail)->end());
  response.headers = {{"Cache-Control", "no-store"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return response;
}

}  // namespace

void AddRequestRoutes(HttpServer* server, Served* served) {
  server->Handle("GET", "/cairn/requests", [served](const HttpRequest& request) {
    return ToResponse(ListRequests(*served, request));
  });
  server->Handle("GET", "/cairn/doctor", [served](const HttpRequest& request) {
    return ToResponse(
        DoctorBody(served->request_log, request.params, request.key_number, NowUnixS()));
  });
  server->Handle("GET", "/cairn/requests/:id", [served](const HttpRequest& request) {
    return ToResponse(FindRequest(*served, request));
  });
  server->Handle("GET", "/cairn/requests/:id/thumbnails/:index",
                 [served](const HttpRequest& request) { return Thumbnail(*served, request); });
}

std::vector<Json> RefusedFor(const Refusals& refusals, const HttpRequest& request) {
  std::vector<Json> refused;
  for (const NamespaceId name_space : SeenBy(request)) refused.push_back(refusals.List(name_space));
  return refused;
}

Json FindRefused(const Refusals& refusals, const HttpRequest& request) {
  for (const NamespaceId name_space : SeenBy(request)) {
    Json refused = refusals.Find(request.captures.at("id"), name_space);
    if (!refused.is_null()) return refused;
  }
  return {};
}

std::function<void(const HttpRefusal& refusal)> NoteIn(Refusals* refusals) {
  return [refusals](const HttpRefusal& refusal) {
    refusals->Note({refusal.status, refusal.method, refusal.path, refusal.route, refusal.message,
                    refusal.remote, refusal.key_number});
  };
}

}  // namespace cairn
