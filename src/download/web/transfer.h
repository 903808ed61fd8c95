// Transfer: one HTTP request to a web server that has model files. It follows no redirects and
// tries nothing twice; both are decisions of its callers (WebGet, file_download.h).
//
// A program has one, from MakeCurlTransfer; tests have one that plays a hub with faults
// (testing/download/download_fixture.h).

#ifndef CAIRN_DOWNLOAD_WEB_TRANSFER_H_
#define CAIRN_DOWNLOAD_WEB_TRANSFER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

// The parts of a URL that a download decides by.
struct WebUrl {
  // "https://example.org:8443", in lower case and with a port only where it is not the scheme's.
  std::string origin;
  std::string path;  // with the query, and without the fragment; begins with a slash

  bool is_https() const { return origin.starts_with("https:"); }
  // A server of this machine.
  bool is_loopback() const;
  std::string Text() const { return origin + path; }
};

// kInvalidArgument: not an http or https URL, one with a user's name, or one with bytes that would
// have to be escaped.
Result<WebUrl> ParseWebUrl(std::string_view text);

// Returns the URL that the header `location` of a response from `from` names.
Result<WebUrl> Redirected(const WebUrl& from, std::string_view location);

// Returns the last part of the path, without the query, or an empty string.
std::string FileNameOf(const WebUrl& url);

// Escapes the bytes of a file's path that a URL cannot have; slashes stay.
std::string EscapedPath(std::string_view path);

using WebHeaders = std::vector<std::pair<std::string, std::string>>;

struct TransferRequest {
  std::string url;  // http or https, complete
  WebHeaders headers;
  bool head_only = false;  // HEAD instead of GET
};

struct TransferHead {
  int status = 0;
  WebHeaders headers;  // in the order received

  // Returns the value of the last header of that name, whatever its case, or an empty string.
  std::string Header(std::string_view name) const;
};

// Both are called on the caller's thread. An error of theirs ends the transfer and is its result.
struct TransferSink {
  std::function<Status(const TransferHead&)> head;  // once, before the body
  std::function<Status(ByteSpan)> body;             // for each piece of the body
};

// Any thread, one request at a time for each object.
class Transfer {
 public:
  virtual ~Transfer() = default;

  // Returns when the body has arrived whole, as far as the server's headers tell. kUnavailable: no
  // connection, a cut one, or one without a byte for half a minute. kInvalidArgument: not a URL of
  // http or https, or a certificate that is not valid.
  virtual Status Run(const TransferRequest& request, const TransferSink& sink) = 0;
};

// WebGet: a request that follows redirects, and that sends the token to nobody but the hub.

// A token goes to requests of this origin alone, and only over TLS or to this machine.
struct WebToken {
  std::string origin;  // as in WebUrl
  std::string token;   // empty for none
};

class WebGet {
 public:
  static constexpr size_t kRedirectsMax = 8;

  // `transfer` outlives this.
  WebGet(Transfer* transfer, WebToken token) : transfer_(transfer), token_(std::move(token)) {}

  // Runs `request` and the requests that redirects name, which have the same headers. `sink` sees
  // the last response alone. A redirect from https to http is refused.
  //
  // kUnavailable: as a transfer's, or too many redirects. kInvalidArgument: the URL, or that of a
  // redirect, is none of http or https, or a certificate is not valid.
  Status Run(const TransferRequest& request, const TransferSink& sink);

  // Gets a text of at most `bytes_max` bytes, and the head that it came with. Whatever its status
  // is, the response is a result. kTooLong: the text is longer.
  struct Page {
    TransferHead head;
    std::string text;
  };
  Result<Page> GetPage(const std::string& url, size_t bytes_max);

  // The headers of the redirects of the last Run, the first of them first: a hub names a file's
  // checksum there.
  const std::vector<TransferHead>& redirects() const { return redirects_; }

 private:
  Transfer* const transfer_;
  const WebToken token_;
  std::vector<TransferHead> redirects_;
};

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_WEB_TRANSFER_H_
