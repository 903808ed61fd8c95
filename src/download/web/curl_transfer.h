// Transfers by libcurl (docs/decisions/0044-libcurl.md).

#ifndef CAIRN_DOWNLOAD_WEB_CURL_TRANSFER_H_
#define CAIRN_DOWNLOAD_WEB_CURL_TRANSFER_H_

#include <memory>

#include "download/web/transfer.h"

namespace cairn {

struct CurlTransferOptions {
  long connect_timeout_s = 15;
  long silence_s = 30;  // a connection without a byte for this long is cut
};

// Certificates are verified, by the file that SSL_CERT_FILE or CURL_CA_BUNDLE names, or else by the
// system's. Proxies are those of the environment (https_proxy, no_proxy), never for loopback.
std::unique_ptr<Transfer> MakeCurlTransfer(const CurlTransferOptions& options = {});

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_WEB_CURL_TRANSFER_H_
