// Rules for requests that come from web pages (CORS; the decision is in docs/security.md).
//
// Any page that a user of this machine opens can send requests to a server on it. CORS lets the
// browser decide which answers the page may read; a server without keys must also check where a
// request comes from.

#ifndef CAIRN_HTTP_BROWSERS_H_
#define CAIRN_HTTP_BROWSERS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Returns kInvalidArgument if an entry is not an origin ("https://example.org", with a port if
// needed) or "localhost", which stands for the pages of this machine, at any port; or if it is "*"
// and there are no keys.
Status CheckOrigins(const std::vector<std::string>& origins, bool has_keys);

bool AllowsOrigin(const std::vector<std::string>& origins, std::string_view origin);

// Returns the headers for an answer to a page of `origin`; none if that is not allowed.
HttpHeaders CorsHeaders(const std::vector<std::string>& origins, const std::string& origin);
// The contents of a preflight.
struct Preflight {
  std::string headers;           // that the page wants to send, separated by commas
  bool private_network = false;  // the page is not on this network, and the server is
};
// Returns the further headers of a preflight's answer. `methods` is as in an Allow header.
HttpHeaders PreflightHeaders(const std::string& methods, const Preflight& wanted);

// Returns whether `origin` is that of a page from this server, reached as `host`.
bool IsSameOrigin(std::string_view origin, std::string_view host);

// Returns whether a Host header names this machine, or the host `own`. DNS rebinding uses other
// names that resolve to this machine.
bool NamesLoopback(std::string_view host, std::string_view own);

}  // namespace cairn

#endif  // CAIRN_HTTP_BROWSERS_H_
