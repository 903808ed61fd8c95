#include "download/web/web_get.h"

#include <utility>

namespace cairn {
namespace {

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

Status WebGet::Run(const TransferRequest& request, const TransferSink& sink) {
  redirects_.clear();
  auto url = ParseWebUrl(request.url);
  while (true) {
    if (!url) return tl::unexpected(url.error());
    TransferRequest one = request;
    one.url = url->Text();
    const bool safe = url->is_https() || url->is_loopback();
    if (!token_.token.empty() && url->origin == token_.origin && safe) {
      one.headers.emplace_back("Authorization", "Bearer " + token_.token);
    }
    bool redirected = false;
    TransferSink through;
    through.head = [&](const TransferHead& head) -> Status {
      redirected = IsRedirect(head.status) && !head.Header("Location").empty();
      if (redirected) redirects_.push_back(head);
      return redirected || !sink.head ? Status() : sink.head(head);
    };
    through.body = [&](ByteSpan bytes) -> Status {
      return redirected || !sink.body ? Status() : sink.body(bytes);
    };
    if (Status run = transfer_->Run(one, through); !run) return run;
    if (!redirected) return {};
    if (redirects_.size() > kRedirectsMax) {
      return Fail(ErrorCode::kUnavailable,
                  url->origin + " redirects more than " + std::to_string(kRedirectsMax) + " times");
    }
    auto next = Redirected(*url, redirects_.back().Header("Location"));
    if (next && url->is_https() && !next->is_https()) {
      return Fail(ErrorCode::kUnavailable,
                  url->origin + " redirects to " + next->origin + ", which is not encrypted");
    }
    url = std::move(next);
  }
}

Result<WebGet::Page> WebGet::GetPage(const std::string& url, size_t bytes_max) {
  Page page;
  TransferSink sink;
  sink.head = [&](const TransferHead& head) -> Status {
    page.head = head;
    return {};
  };
  sink.body = [&](ByteSpan bytes) -> Status {
    if (bytes.size() > bytes_max - page.text.size()) {
      return Fail(ErrorCode::kTooLong,
                  url + " has more than " + std::to_string(bytes_max) + " bytes");
    }
    page.text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  if (Status run = Run({url, {{"Accept", "application/json"}}, false}, sink); !run)
    return tl::unexpected(run.error());
  return page;
}

}  // namespace cairn
