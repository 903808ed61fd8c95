// For the tests of the HTTP server: a server on a free port and a client with a raw socket, which
// can send what no well-behaved client sends. With CAIRN_TEST_TLS both use TLS, so that the same
// tests run under it.

#ifndef CAIRN_TESTING_HTTP_SERVER_FIXTURE_H_
#define CAIRN_TESTING_HTTP_SERVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "http/server.h"
#include "testing/http/test_connection.h"
#ifdef CAIRN_TEST_TLS
#include "testing/http/tls_client.h"
#endif

namespace cairn {

using test::kPatienceMs;

// Returns whether `condition` becomes true in time.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

#ifdef CAIRN_TEST_TLS
using RawClient = test::TlsClient;
#else
using RawClient = test::PlainConnection;
#endif

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    options_.port = 0;
#ifdef CAIRN_TEST_TLS
    options_.certificate = test::AnyCertificate();
#endif
    options_.error_body = [](int status, std::string_view message, std::string_view) {
      return "{" + std::to_string(status) + ": " + std::string(message) + "}";
    };
    options_.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard<std::mutex> lock(log_mutex_);
      log_.emplace_back(line);
    };
  }
  // Not in the destructor: handlers may use members of derived fixtures.
  void TearDown() override { StopServer(); }

  // Makes the server from `options_`; add handlers, then call StartServer().
  HttpServer& MakeServer() {
    server_ = std::make_unique<HttpServer>(options_);
    return *server_;
  }

  void StartServer() {
    const Status bound = server_->Bind();
    ASSERT_TRUE(bound) << bound.error().message;
    thread_ = std::thread([this] { server_->Serve(); });
  }

  void StopServer() {
    if (!thread_.joinable()) return;
    server_->Stop();
    thread_.join();
  }

  // Sends `request` on a new connection and returns everything received.
  std::string Ask(std::string_view request) {
    RawClient client(server_->port());
    client.Send(request);
    return client.ReadAll();
  }

  // As Ask(), with a request line and headers that end the connection after the answer.
  std::string AskFor(const std::string& method, const std::string& target,
                     const std::string& headers = "", const std::string& body = "") {
    std::string request =
        method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return Ask(request + headers + "\r\n" + body);
  }

  std::vector<std::string> Log() {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    return log_;
  }

  HttpServerOptions options_;
  std::unique_ptr<HttpServer> server_;

 private:
  std::thread thread_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

inline int StatusOf(std::string_view answer) {
  if (!answer.starts_with("HTTP/1.1 ") || answer.size() < 12) return 0;
  return (answer[9] - '0') * 100 + (answer[10] - '0') * 10 + (answer[11] - '0');
}

inline std::string BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

inline HttpResponse Text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

}  // namespace cairn

#endif  // CAIRN_TESTING_HTTP_SERVER_FIXTURE_H_
