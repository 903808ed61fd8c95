#include "download/web/curl_transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "base/process/threads.h"
#include "base/text.h"
#include "download/web/transfer.h"

namespace cairn {
namespace {

// The file with the certificates of authorities. A library from another distribution may have been
// built with a path that this machine does not have.
std::string AuthoritiesFile() {
  for (const char* variable : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return "";
}

// The state that the callbacks of one request share.
class Reception {
 public:
  explicit Reception(const TransferSink& sink) : sink_(sink) {}

  // libcurl passes header lines one at a time, of each response: an interim one (100) comes first.
  bool TakeHeaderLine(std::string_view line) {
    if (line.starts_with("HTTP/")) {
      head_ = {};
      const size_t space = line.find(' ');
      head_.status = space == line.npos ? 0 : std::atoi(std::string(line.substr(space)).c_str());
      return true;
    }
    if (Trimmed(line).empty()) return head_.status < 200 || TellHead();
    const size_t colon = line.find(':');
    if (colon != line.npos) {
      head_.headers.emplace_back(Trimmed(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
    }
    return true;
  }

  bool TakeBody(ByteSpan bytes) {
    if (!sink_.body) return true;
    return Note(sink_.body(bytes));
  }

  // Calls `take`. An exception may not pass through libcurl, so it is an error too.
  template <typename Take>
  bool Try(Take&& take) {
    bool taken = false;
    const Status tried = TryWork([&] { taken = take(); });
    if (!tried) status_ = tried;
    return taken;
  }

  // An error of the sink.
  const Status& status() const { return status_; }
  bool has_head() const { return told_; }

 private:
  bool TellHead() {
    if (std::exchange(told_, true)) return true;  // trailers end with an empty line too
    return !sink_.head || Note(sink_.head(head_));
  }
  bool Note(Status status) {
    status_ = std::move(status);
    return status_.has_value();
  }

  const TransferSink& sink_;
  TransferHead head_;
  bool told_ = false;
  Status status_;
};

size_t OnHeader(char* bytes, size_t size, size_t count, void* reception) {
  const std::string_view line(bytes, size * count);
  auto* const taker = static_cast<Reception*>(reception);
  return taker->Try([&] { return taker->TakeHeaderLine(line); }) ? line.size() : 0;
}

size_t OnBody(char* bytes, size_t size, size_t count, void* reception) {
  const ByteSpan body(reinterpret_cast<const uint8_t*>(bytes), size * count);
  auto* const taker = static_cast<Reception*>(reception);
  return taker->Try([&] { return taker->TakeBody(body); }) ? body.size() : CURL_WRITEFUNC_ERROR;
}

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList ListOf(const WebHeaders& headers) {
  HeaderList list(nullptr, &curl_slist_free_all);
  for (const auto& [name, value] : headers) {
    // The old head is part of the longer list, which takes it over.
    curl_slist* const old = list.release();
    list.reset(curl_slist_append(old, (name + ": " + value).c_str()));
  }
  return list;
}

class CurlTransfer final : public Transfer {
 public:
  explicit CurlTransfer(const CurlTransferOptions& options)
      : options_(options),
        authorities_(AuthoritiesFile()),
        curl_(curl_easy_init(), &curl_easy_cleanup) {}

  Status Run(const TransferRequest& request, const TransferSink& sink) override {
    if (curl_ == nullptr) return Fail(ErrorCode::kInternal, "libcurl cannot start");
    const auto url = ParseWebUrl(request.url);
    if (!url) return tl::unexpected(url.error());
    Reception reception(sink);
    const HeaderList headers = ListOf(request.headers);
    SetOptions(request, *url, headers.get(), &reception);
    const CURLcode code = curl_easy_perform(curl_.get());
    if (!reception.status()) return reception.status();
    if (code == CURLE_OK && reception.has_head()) return {};
    if (code == CURLE_URL_MALFORMAT) {
      return Fail(ErrorCode::kInvalidArgument, "'" + request.url + "' is not a URL");
    }
    const std::string why = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
    const bool distrusted =
        code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    return Fail(distrusted ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable,
                url->origin + ": " + why);
  }

 private:
  void SetOptions(const TransferRequest& request, const WebUrl& url, curl_slist* headers,
                  Reception* reception) {
    CURL* const curl = curl_.get();
    curl_easy_reset(curl);  // keeps connections
    error_[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_.data());
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOBODY, request.head_only ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, options_.connect_timeout_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, options_.silence_s);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!authorities_.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, authorities_.c_str());
    if (url.is_loopback()) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    // A body of HTTP/0.9 has no head, and so no status.
    curl_easy_setopt(curl, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L << 10U);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &OnHeader);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, reception);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &OnBody);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reception);
  }

  const CurlTransferOptions options_;
  const std::string authorities_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
};

}  // namespace

std::unique_ptr<Transfer> MakeCurlTransfer(const CurlTransferOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  return std::make_unique<CurlTransfer>(options);
}

}  // namespace cairn
