#include "http/http_client.h"

#include <httplib.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <mutex>

#include "base/ignore_case.h"

namespace cairn {
namespace {

// Writing to a connection that the server has closed must be an error, not end the program.
void IgnoreBrokenPipes() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      std::signal(SIGPIPE, SIG_IGN);
    }
  });
}

// Before a body of 1 KiB or more the library sends "Expect: 100-continue" and waits a second for
// servers that do not support it. It does not if the request has that header already, so the
// request gets one, which is removed again when the headers are written.
ssize_t WriteHeadersWithoutExpect(httplib::Stream& stream, httplib::Headers& headers) {
  headers.erase("Expect");
  return httplib::detail::write_headers(stream, headers);
}

}  // namespace

std::string_view HttpReply::Header(std::string_view name) const {
  return FindIgnoringCase(headers, name);
}

struct HttpClient::Call {
  std::string method;
  std::string path;
  std::string body = {};
  std::string content_type = {};
  // Both are for streams only.
  std::function<bool(const HttpReply& head)> on_head = nullptr;
  std::function<bool(std::string_view chunk)> on_chunk = nullptr;
};

HttpClient::HttpClient(std::string url, HttpClientOptions options)
    : url_(std::move(url)), options_(std::move(options)) {
  IgnoreBrokenPipes();
  const size_t scheme = url_.find("://");
  const size_t path = url_.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  if (path == std::string::npos) return;
  prefix_ = url_.substr(path);
  url_.resize(path);
  while (prefix_.ends_with('/')) prefix_.pop_back();
}

Result<HttpReply> HttpClient::Send(const Call& call) const {
  const std::string what = call.method + " " + url_ + prefix_ + call.path;
  const Error no_address{ErrorCode::kInvalidArgument,
                         "invalid address " + url_ + "; expected http://host:port"};
  try {
    if (!url_.starts_with("http://") && !url_.starts_with("https://")) {
      return tl::unexpected<Error>(no_address);
    }
    httplib::Client client(url_);
    if (!client.is_valid()) return tl::unexpected<Error>(no_address);
    client.set_path_encode(false);
    client.set_tcp_nodelay(true);
    client.set_connection_timeout(std::chrono::milliseconds(options_.connect_timeout_ms));
    client.set_read_timeout(std::chrono::milliseconds(options_.timeout_ms));
    client.set_write_timeout(std::chrono::milliseconds(options_.timeout_ms));
    if (options_.total_timeout_ms > 0) {
      client.set_max_timeout(std::chrono::milliseconds(options_.total_timeout_ms));
    }
    client.set_header_writer(WriteHeadersWithoutExpect);

    httplib::Request request;
    request.method = call.method;
    request.path = prefix_ + call.path;
    request.body = call.body;
    for (const auto& [name, value] : options_.headers) request.set_header(name, value);
    if (!call.content_type.empty()) request.set_header("Content-Type", call.content_type);
    request.set_header("Accept-Encoding", "identity");
    request.set_header("Expect", "none");
    if (call.on_chunk) {
      client.set_decompress(false);
      request.response_handler = [&call](const httplib::Response& response) {
        HttpReply head;
        head.status = response.status;
        head.headers.assign(response.headers.begin(), response.headers.end());
        return call.on_head(head);
      };
      request.content_receiver = [&call](const char* bytes, size_t size, size_t, size_t) {
        return call.on_chunk(std::string_view(bytes, size));
      };
    }

    const httplib::Result result = client.send(request);
    if (!result) {
      const bool stopped = result.error() == httplib::Error::Canceled;
      return Fail(stopped ? ErrorCode::kCancelled : ErrorCode::kUnavailable,
                  what + " failed: " + httplib::to_string(result.error()));
    }
    HttpReply reply;
    reply.status = result->status;
    reply.body = result->body;
    reply.headers.assign(result->headers.begin(), result->headers.end());
    return reply;
  } catch (const std::exception& e) {
    return Fail(ErrorCode::kInvalidArgument, what + " failed: " + e.what());
  }
}

Result<HttpReply> HttpClient::Get(const std::string& path) const {
  return Send({.method = "GET", .path = path});
}

Result<HttpReply> HttpClient::Delete(const std::string& path) const {
  return Send({.method = "DELETE", .path = path});
}

Result<HttpReply> HttpClient::Post(const std::string& path, const std::string& body,
                                   const std::string& content_type) const {
  return Send({.method = "POST", .path = path, .body = body, .content_type = content_type});
}

Status HttpClient::GetStream(const std::string& path,
                             const std::function<bool(const HttpReply& head)>& on_head,
                             const std::function<bool(std::string_view chunk)>& on_chunk) const {
  Call call{.method = "GET", .path = path};
  call.on_head = on_head;
  call.on_chunk = on_chunk;
  const Result<HttpReply> reply = Send(call);
  if (reply || reply.error().code == ErrorCode::kCancelled) return {};
  return tl::unexpected<Error>(reply.error());
}

Status HttpClient::PostStream(const std::string& path, const std::string& body,
                              const std::function<bool(std::string_view chunk)>& on_chunk,
                              int* status, std::string* error_body, HttpReply* head) const {
  *status = 0;
  error_body->clear();
  Call call{.method = "POST", .path = path, .body = body, .content_type = "application/json"};
  call.on_head = [status](const HttpReply& received) {
    *status = received.status;
    return true;
  };
  call.on_chunk = [&](std::string_view chunk) {
    if (*status == 200) return on_chunk(chunk);
    error_body->append(chunk);
    return true;
  };
  Result<HttpReply> reply = Send(call);
  if (reply && head != nullptr) head->headers = std::move(reply->headers);
  if (reply || reply.error().code == ErrorCode::kCancelled) return {};
  return tl::unexpected<Error>(reply.error());
}

}  // namespace cairn
