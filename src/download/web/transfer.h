// Transfer: one HTTP request to a web server that has model files. It follows no redirects and
// tries nothing twice; both are decisions of its callers (web_get.h, file_download.h).
//
// A program has one, from MakeCurlTransfer; tests have one that plays a hub with faults
// (testing/download/fake_transfer.h).

#ifndef CAIRN_DOWNLOAD_WEB_TRANSFER_H_
#define CAIRN_DOWNLOAD_WEB_TRANSFER_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_WEB_TRANSFER_H_
