// A server on a Unix socket.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "http/connections/socket.h"
#include "http/server.h"

namespace cairn {
namespace {

class UnixSocketTest : public testing::Test {
 protected:
  UnixSocketTest()
      : path_(std::filesystem::temp_directory_path().string() + "/cairn-" +
              std::to_string(getpid()) + ".sock") {
    std::filesystem::remove(path_);
  }
  ~UnixSocketTest() override { std::filesystem::remove(path_); }

  std::string Ask(const std::string& request) const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    std::string answer;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
        send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size())) {
      char bytes[1024];
      for (ssize_t size = 0; (size = recv(fd, bytes, sizeof(bytes), 0)) > 0;) {
        answer.append(bytes, static_cast<size_t>(size));
      }
    }
    close(fd);
    return answer;
  }

  const std::string path_;
};

TEST_F(UnixSocketTest, AnswersWithoutAKeyAndLeavesNoFileBehind) {
  HttpServerOptions options;
  options.host = path_;
  options.error_body = [](int, std::string_view message, std::string_view) {
    return std::string(message);
  };
  HttpServer server(options);
  std::string remote;
  server.Handle("GET", "/hello", [&remote](const HttpRequest& request) {
    remote = request.remote;
    HttpResponse response;
    response.body = "hello";
    return response;
  });
  const Status bound = server.Bind();
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(server.port(), 0);
  std::thread thread([&server] { server.Serve(); });
  const std::string answer =
      Ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  server.Stop();
  thread.join();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_TRUE(answer.ends_with("hello")) << answer;
  EXPECT_EQ(remote, "unix");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixSocketTest, TakesThePlaceOfASocketThatNobodyListensAt) {
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  Listener listener;
  EXPECT_TRUE(listener.Open(path_, 0, true));
  Listener second;
  const Status refused = second.Open(path_, 0, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

TEST_F(UnixSocketTest, RefusesFilesAndPathsThatAreTooLong) {
  std::ofstream(path_) << "a file";
  Listener listener;
  EXPECT_FALSE(listener.Open(path_, 0, true));
  EXPECT_TRUE(std::filesystem::exists(path_)) << "a file of others stays";
  const Status too_long = listener.Open("/" + std::string(200, 'x') + ".sock", 0, true);
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message.find("too long"), std::string::npos);
}

TEST(UrlOf, IsWhatAPersonCopies) {
  EXPECT_EQ(UrlOf(false, "127.0.0.1", 80), "http://127.0.0.1:80");
  EXPECT_EQ(UrlOf(true, "::1", 8443), "https://[::1]:8443");
  EXPECT_EQ(UrlOf(false, "/run/c.sock", 0), "unix:/run/c.sock");
}

}  // namespace
}  // namespace cairn
