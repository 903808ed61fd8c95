// WebGet: a request that follows redirects, and that sends the token to nobody but the hub.

#ifndef CAIRN_DOWNLOAD_WEB_WEB_GET_H_
#define CAIRN_DOWNLOAD_WEB_WEB_GET_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "download/web/transfer.h"
#include "download/web/web_url.h"

namespace cairn {

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

#endif  // CAIRN_DOWNLOAD_WEB_WEB_GET_H_
