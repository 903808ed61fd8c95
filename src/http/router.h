// Router: which handler answers a method and a path. Knows nothing of sockets.
//
// A pattern is a path whose segments are fixed ("/v1/models") or, when they start with a colon,
// take any one non-empty segment ("/slots/:id"). A path is split at its slashes first and
// percent-decoded then, so "%2F" inside a segment stays inside it. Patterns without a colon win
// over patterns with one; among those the one that was added first wins.

#ifndef CAIRN_HTTP_ROUTER_H_
#define CAIRN_HTTP_ROUTER_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// `text` with every "%41" made "A". A percent sign that no two hex digits follow stays as it is.
std::string PercentDecode(std::string_view text);

// The path of a request target: without query and fragment, and without "http://host" if the
// client sent that too. Still percent-encoded.
std::string_view TargetPath(std::string_view target);

struct RouteMatch {
  bool path_known = false;  // some method is answered here
  bool found = false;       // and this method is
  size_t route = 0;         // what Add() returned
  std::map<std::string, std::string> captures;
  std::string allow;  // the methods answered here, as an Allow header lists them
};

// Add() everything first; Find() may then be called from any thread.
class Router {
 public:
  // Returns the route's number, counted from 0. REQUIRES: `pattern` starts with a slash.
  size_t Add(std::string method, std::string_view pattern);

  // "POST /slots/:id", in the order they were added.
  std::vector<std::string> Names() const;

  // `path` is percent-encoded. HEAD is found where GET is.
  RouteMatch Find(std::string_view method, std::string_view path) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    bool has_captures = false;
  };

  std::vector<Route> routes_;
};

}  // namespace cairn

#endif  // CAIRN_HTTP_ROUTER_H_
