// The route that a request to an unknown path may have meant, for the message of its 404.

#ifndef CAIRN_HTTP_NEAREST_ROUTE_H_
#define CAIRN_HTTP_NEAREST_ROUTE_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Returns a name of `routes` ("POST /v1/messages"; see Router::Names) whose path is `path` but for
// a prefix such as /v1 or /api, or for a typing error or two; empty if there is none. Among several
// one of `method` comes first.
std::string NearestRoute(const std::vector<std::string>& routes, std::string_view method,
                         std::string_view path);

struct NoRoute {
  int status = 404;
  std::string message;
};
// Returns what a request to an unknown path is told, which quotes `path`: a 403 and the reason for
// a route that llama-server has, and this server has not on purpose.
NoRoute AnswerWithoutRoute(const std::vector<std::string>& routes, std::string_view method,
                           const std::string& path);

}  // namespace cairn

#endif  // CAIRN_HTTP_NEAREST_ROUTE_H_
