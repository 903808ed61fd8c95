#include "download/web/transfer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace cairn {
namespace {

constexpr size_t kBytesMax = 8192;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsPrintable(char c) {
  return c > ' ' && c < '\x7F';
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

bool WebUrl::is_loopback() const {
  const std::string_view authority = std::string_view(origin).substr(origin.find("//") + 2);
  if (authority.starts_with("[::1]")) return true;
  const std::string_view host = authority.substr(0, authority.find(':'));
  if (host == "localhost") return true;
  return host.starts_with("127.") && std::all_of(host.begin(), host.end(), [](char c) {
           return c == '.' || (c >= '0' && c <= '9');
         });
}

Result<WebUrl> ParseWebUrl(std::string_view text) {
  const size_t scheme_end = text.find("://");
  const std::string scheme = Lower(text.substr(0, scheme_end));
  const bool known =
      scheme_end != std::string_view::npos && (scheme == "http" || scheme == "https");
  const std::string_view rest = known ? text.substr(scheme_end + 3) : std::string_view();
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (!known || text.size() > kBytesMax || authority.empty() || authority.starts_with(':') ||
      authority.find_first_of("@\\") != std::string_view::npos ||
      !std::all_of(text.begin(), text.end(), IsPrintable)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + std::string(text.substr(0, 200)) +
                    "' is not a URL of the form https://host/path or http://host/path");
  }
  WebUrl url;
  url.origin = scheme + "://" + Lower(authority);
  const std::string_view usual_port = scheme == "https" ? ":443" : ":80";
  if (url.origin.ends_with(usual_port)) url.origin.resize(url.origin.size() - usual_port.size());
  const std::string_view path = rest.substr(authority.size(), rest.find('#') - authority.size());
  url.path = (path.starts_with('/') ? "" : "/") + std::string(path);
  return url;
}

Result<WebUrl> Redirected(const WebUrl& from, std::string_view location) {
  const size_t scheme = location.find("://");
  if (scheme != std::string_view::npos && scheme < location.find_first_of("/?#"))
    return ParseWebUrl(location);
  if (location.starts_with("//")) {
    return ParseWebUrl(from.origin.substr(0, from.origin.find(':') + 1) + std::string(location));
  }
  if (location.starts_with('/')) return ParseWebUrl(from.origin + std::string(location));
  const std::string path = from.path.substr(0, from.path.find('?'));
  return ParseWebUrl(from.origin + path.substr(0, path.rfind('/') + 1) + std::string(location));
}

std::string FileNameOf(const WebUrl& url) {
  const std::string path = url.path.substr(0, url.path.find('?'));
  return path.substr(path.rfind('/') + 1);
}

std::string EscapedPath(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos) {
      escaped += c;
    } else {
      escaped += '%';
      escaped += kDigits[byte >> 4U];
      escaped += kDigits[byte & 15U];
    }
  }
  return escaped;
}

std::string TransferHead::Header(std::string_view name) const {
  const auto found = std::find_if(headers.rbegin(), headers.rend(), [name](const auto& header) {
    return SameIgnoringCase(header.first, name);
  });
  return found == headers.rend() ? std::string() : found->second;
}

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
