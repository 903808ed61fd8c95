// Router: finds the handler for a method and a path. It has no dependency on sockets.
//
// A pattern is a path whose segments are either fixed ("/v1/models") or, if they start with a
// colon, match any one non-empty segment ("/slots/:id"). A path is split at its slashes before it
// is percent-decoded, so "%2F" stays inside its segment. Patterns without a colon take precedence
// over patterns with one; among those, the one added first wins.

#ifndef CAIRN_HTTP_ROUTER_H_
#define CAIRN_HTTP_ROUTER_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Returns `text` with escapes such as "%41" decoded. A percent sign without two hex digits after it
// stays unchanged.
std::string PercentDecode(std::string_view text);

// Returns the segments between the slashes, still encoded. REQUIRES: `path` is empty or starts with
// a slash.
std::vector<std::string_view> PathSegments(std::string_view path);

// Returns the path of a request target, without query and fragment, and without "http://host" if
// the client sent that too. Still percent-encoded.
std::string_view TargetPath(std::string_view target);

// Returns the same with the query, if there is one.
std::string_view TargetWithQuery(std::string_view target);

// Returns the target without `prefix`, which is a path without a slash at its end, or empty; an
// empty text if the target does not begin with it.
std::string_view WithoutPrefix(std::string_view prefix, std::string_view target);

struct RouteMatch {
  bool path_known = false;  // some method has a route at the path
  bool found = false;       // this method has one
  size_t route = 0;         // the result of Add()
  std::map<std::string, std::string> captures;
  std::string allow;  // the methods with a route at the path, as for an Allow header
};

// All calls of Add() come first; Find() may then be called from any thread.
class Router {
 public:
  // Returns the route's number, counted from 0. REQUIRES: `pattern` starts with a slash.
  size_t Add(std::string method, std::string_view pattern);

  // Names like "POST /slots/:id", in the order in which they were added.
  std::vector<std::string> Names() const;

  // `path` is percent-encoded. HEAD matches the routes of GET. A path without a route of its own
  // has that of the same path with /v1 before it, or without it: clients' addresses end with /v1 or
  // do not, whatever the API.
  RouteMatch Find(std::string_view method, std::string_view path) const;

 private:
  RouteMatch FindExactly(std::string_view method, std::string_view path) const;

  struct Route {
    std::string method;
    std::vector<std::string> segments;
    bool has_captures = false;
  };

  std::vector<Route> routes_;
};

// The route that a request to an unknown path may have meant, for the message of its 404.

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

#endif  // CAIRN_HTTP_ROUTER_H_
