// What the pages of web browsers may ask of the server (CORS, decision in docs/security.md).
//
// Any page that a user of this machine opens can send requests to a server on it. What it may not
// read CORS decides, in the browser; a server that nobody needs a key for must also look who asks.

#ifndef CAIRN_HTTP_PAGE_BROWSERS_H_
#define CAIRN_HTTP_PAGE_BROWSERS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// kInvalidArgument: one is no origin ("https://example.org", a port if need be), or it is "*" and
// there are no keys.
Status CheckOrigins(const std::vector<std::string>& origins, bool has_keys);

bool AllowsOrigin(const std::vector<std::string>& origins, std::string_view origin);

// For an answer to a page of `origin`; none where it is not allowed.
HttpHeaders CorsHeaders(const std::vector<std::string>& origins, const std::string& origin);
// What else the answer to a preflight says; `methods` as in an Allow header. `wanted` is what the
// page would like to send, names with commas.
HttpHeaders PreflightHeaders(const std::string& methods, const std::string& wanted);

// Whether `origin` is that of a page that this server, asked for by `host`, has sent.
bool IsSameOrigin(std::string_view origin, std::string_view host);

// Whether a Host header names this machine by itself, or as `own` does. Another name that leads
// here anyway is what DNS rebinding does.
bool NamesLoopback(std::string_view host, std::string_view own);

}  // namespace cairn

#endif  // CAIRN_HTTP_PAGE_BROWSERS_H_
