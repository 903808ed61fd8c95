#include "download/web/web_url.h"

#include <algorithm>
#include <array>
#include <cctype>

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

}  // namespace cairn
