// FetchUrl: gets a file from a web server that a client of ours named.
//
// The caller decides whether clients may make this machine send requests: the address may be one
// that only this machine can reach.

#ifndef CAIRN_HTTP_URL_FETCH_H_
#define CAIRN_HTTP_URL_FETCH_H_

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

struct UrlFetchOptions {
  int time_ms_max = 10'000;  // for everything, redirects included
  size_t redirects_max = 3;
  // As in HttpClientOptions; limited by the time that is left too.
  int connect_timeout_ms = 5'000;
};

// GETs an http or https URL, follows redirects to others, and returns the body of the 200. Any
// thread. https works where the HTTP library was built with TLS; the server's certificate must be
// valid.
//
// kInvalidArgument: not such a URL. kTooLong: the body has more than `bytes_max` bytes, of which no
// more are received. kTimedOut: it took too long. kUnavailable: anything else.
Result<Bytes> FetchUrl(const std::string& url, size_t bytes_max,
                       const UrlFetchOptions& options = {});

}  // namespace cairn

#endif  // CAIRN_HTTP_URL_FETCH_H_
