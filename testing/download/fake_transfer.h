// FakeTransfer: asks a PlayedHub without sockets, as libcurl would with them.

#ifndef CAIRN_TESTING_DOWNLOAD_FAKE_TRANSFER_H_
#define CAIRN_TESTING_DOWNLOAD_FAKE_TRANSFER_H_

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>

#include "download/web/transfer.h"
#include "testing/download/played_hub.h"

namespace cairn {

// Thrown in the middle of a body, as if the process had been killed there.
struct KilledHere : std::exception {};

class FakeTransfer final : public Transfer {
 public:
  explicit FakeTransfer(PlayedHub* hub) : hub_(hub) {}

  // The next bodies throw KilledHere behind so many bytes in all; SIZE_MAX: never.
  void KillAfter(size_t bytes) { lives_for_ = bytes; }

  Status Run(const TransferRequest& request, const TransferSink& sink) override {
    const auto url = ParseWebUrl(request.url);
    if (!url) return tl::unexpected(url.error());
    const HubAnswer answer =
        hub_->Answer({request.head_only ? "HEAD" : "GET", url->origin, url->path, request.headers});
    if (answer.refuses) return Fail(ErrorCode::kUnavailable, "connection refused");
    if (sink.head) {
      if (Status taken = sink.head({answer.status, answer.headers}); !taken) return taken;
    }
    if (request.head_only) return {};
    const std::string length = answer.Header("Content-Length");
    const size_t told =
        length.empty() ? answer.body.size() : std::strtoull(length.c_str(), nullptr, 10);
    const size_t sent = std::min({answer.body.size(), answer.sent_max, told});
    for (size_t at = 0; at < sent;) {
      const size_t size = std::min({sent - at, kPieceBytes, lives_for_});
      if (size == 0) throw KilledHere();
      if (lives_for_ != SIZE_MAX) lives_for_ -= size;
      if (sink.body) {
        Status taken = sink.body(BytesOf(std::string_view(answer.body).substr(at, size)));
        if (!taken) return taken;
      }
      at += size;
    }
    if (sent < told) return Fail(ErrorCode::kUnavailable, "the connection was cut");
    return {};
  }

 private:
  static constexpr size_t kPieceBytes = 700;

  PlayedHub* const hub_;
  size_t lives_for_ = SIZE_MAX;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_DOWNLOAD_FAKE_TRANSFER_H_
