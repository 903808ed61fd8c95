// The HTTP server's own messages.

#ifndef CAIRN_HTTP_SERVER_WORDS_H_
#define CAIRN_HTTP_SERVER_WORDS_H_

#include <exception>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace cairn {

// Returns a path in a form that a message can quote: valid text of limited length.
inline std::string Shown(const std::string& path) {
  constexpr size_t kShownMax = 200;
  return ToValidUtf8(path.size() > kShownMax ? path.substr(0, kShownMax) + "..." : path);
}

// Returns the message for a status that the HTTP library produced itself. `encoded`: the request's
// body has a Content-Encoding.
inline std::string_view MessageFor(int status, bool encoded) {
  switch (status) {
    case 400:
      if (encoded) {
        return "the request's body could not be read: expected a body of the announced length, in "
               "the Content-Encoding that its header names";
      }
      return "the request could not be read: expected an HTTP/1.1 request line, at most 100 header "
             "lines of at most 8 KiB, and a body of the announced length";
    case 414:
      return "the request's target is longer than 8 KiB";
    case 415:
      return "the body's Content-Encoding is not known; send it gzip, br, zstd or as it is";
    case 416:
      return "the Range header could not be read; leave it out, ranges are not served";
    case 503:
      return "the server is shutting down; try again";
    default:
      return "the server could not answer this request";
  }
}

// Returns the message for a request without a key that is accepted. `has_key`: it has another one.
inline std::string NeedsKeyText(bool has_key) {
  return std::string(has_key ? "the API key is wrong" : "an API key is required") +
         ": send \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"";
}

// Returns the message for a key that is none of an admin's. `does`: the method and the path.
inline std::string NeedsAdminText(const std::string& does, bool has_admin) {
  return does + " acts on all clients and so needs an admin's key, which this one is not" +
         (has_admin
              ? "; ask the owner of the server"
              : ". The server has none yet: its owner names one with a line \"admin NAME KEY\" "
                "in --api-key-file, or with --api-key-admin");
}

inline std::string TooBigText(const std::string& how, size_t bytes_max) {
  return "the request's body " + how + " than the " + std::to_string(bytes_max) +
         " bytes that --max-body allows";
}

inline constexpr std::string_view kForeignPage =
    "requests from web pages of other sites are refused; allow an origin with --cors-origin";
inline constexpr std::string_view kForeignHost =
    "without an API key this server accepts only Host names of its own machine, such as localhost; "
    "start it with --api-key, or with --insecure";

inline constexpr std::string_view kPreemptedText =
    "the request came slowly, and its connection was needed for another key's: all connections of "
    "this server are in use; send it again later";

// Returns the complete answer to a request that was not parsed. `reason` may include header lines.
inline std::string RefusalAnswer(int status, const std::string& reason,
                                 const std::string& content_type, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " " + reason +
         "\r\nConnection: close\r\nContent-Type: " + content_type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline constexpr const char* kNotHttpText = "this could not be read as an HTTP request";
inline constexpr const char* kTooLongReason = "Request Header Fields Too Large";
inline constexpr const char* kTooLongText = "the request's headers are longer than 16 KiB";

// The answer to a client that sends plain HTTP to a TLS port.
inline constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    "Content-Length: 47\r\n\r\nthis port speaks TLS: begin the URL with https\n";

// The answer and the log line for a handler that threw.
struct HandlerFailure {
  int status = 500;     // 503 if a retry may succeed
  std::string why;      // for the log
  std::string message;  // for the client
};

HandlerFailure FailureOf(const std::exception_ptr& thrown);

}  // namespace cairn

#endif  // CAIRN_HTTP_SERVER_WORDS_H_
