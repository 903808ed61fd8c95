// The parts of a URL that a download decides by.

#ifndef CAIRN_DOWNLOAD_WEB_WEB_URL_H_
#define CAIRN_DOWNLOAD_WEB_WEB_URL_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_WEB_WEB_URL_H_
