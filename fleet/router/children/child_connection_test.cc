#include "fleet/router/children/child_connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>

namespace cairn {
namespace {

using Step = ChildConnection::Step;

// Accepts one connection on a free port, reads the request's head and a body of `body_size`, and
// sends the given pieces.
class OneAnswer {
 public:
  OneAnswer(std::vector<std::string> pieces, size_t body_size = 0) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, pieces = std::move(pieces), body_size] {
      const int fd = accept(listener_, nullptr, nullptr);
      Read(fd, body_size);
      for (const std::string& piece : pieces) {
        send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      close(fd);
    });
  }
  ~OneAnswer() {
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }
  std::string request() {
    thread_.join();
    thread_ = std::thread([] {});
    return request_;
  }

 private:
  void Read(int fd, size_t body_size) {
    char byte = 0;
    while (request_.find("\r\n\r\n") == std::string::npos && recv(fd, &byte, 1, 0) == 1) {
      request_ += byte;
    }
    for (; body_size > 0 && recv(fd, &byte, 1, 0) == 1; --body_size) request_ += byte;
  }

  int listener_ = -1;
  int port_ = 0;
  std::string request_;
  std::thread thread_;
};

// Returns the status and the body, with how it ended.
std::string Answered(const std::vector<std::string>& pieces, const std::string& method = "GET") {
  const OneAnswer server(pieces);
  const ChildRequest request{method, "/x", {}, {}};
  const auto connection = ChildConnection::Send(server.port(), request);
  if (!connection) return connection.error().message;
  Step step = Step::kNothing;
  while (step == Step::kNothing) step = (*connection)->ReadHead(1000);
  if (step != Step::kMore) return "broken head";
  std::string text = std::to_string((*connection)->head().status) + " ";
  do {
    step = (*connection)->ReadBody(1000, &text);
  } while (step == Step::kNothing || step == Step::kMore);
  return text + (step == Step::kEnd ? " end" : " broken");
}

std::vector<std::string> BytesText(const std::string& text) {
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  return bytes;
}

TEST(ChildConnection, SendsTheRequest) {
  OneAnswer server({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}, 4);
  const ChildRequest request{"POST", "/a?b=c%20d", {{"X-Api-Key", "k"}}, "body"};
  ASSERT_TRUE(ChildConnection::Send(server.port(), request).has_value());
  EXPECT_EQ(server.request(),
            "POST /a?b=c%20d HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: k\r\nConnection: close\r\n"
            "Content-Length: 4\r\n\r\nbody");
}

TEST(ChildConnection, ReadsABodyOfKnownLength) {
  EXPECT_EQ(Answered({"HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello"}),
            "404 hello end");
  EXPECT_EQ(Answered({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo"}), "200 hello end");
  EXPECT_EQ(Answered({"HTTP/1.1 204 No Content\r\n\r\n"}), "204  end");
}

TEST(ChildConnection, ReadsChunks) {
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n, world of\r\n"
      "0\r\n\r\n";
  EXPECT_EQ(Answered({answer}), "200 hello, world of end");
  EXPECT_EQ(Answered(BytesText(answer)), "200 hello, world of end");
}

TEST(ChildConnection, TellsABrokenAnswerFromACompleteOne) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Answered({chunked + "5\r\nhello\r\n"}), "200 hello broken");
  EXPECT_EQ(Answered({chunked + "5\r\nhel"}), "200 hel broken");
  EXPECT_EQ(Answered({chunked}), "200  broken");
  EXPECT_EQ(Answered({chunked + "zz\r\nhello\r\n"}), "200  broken");
  EXPECT_EQ(Answered({chunked + "2\r\nhello\r\n0\r\n\r\n"}), "200 he broken");
  EXPECT_EQ(Answered({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"}), "200 hel broken");
  EXPECT_EQ(Answered({"HTTP/1.1 200 OK\r\nContent-"}), "broken head");
  EXPECT_EQ(Answered({}), "broken head");
  EXPECT_EQ(Answered({"nonsense\r\n\r\n"}), "broken head");
}

TEST(ChildConnection, ExpectsNoBodyOfAHead) {
  EXPECT_EQ(Answered({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}, "HEAD"), "200  end");
}

TEST(ChildConnection, KeepsTheHeaders) {
  const OneAnswer server({"HTTP/1.1 200 OK\r\nX-One:  two \r\nContent-Length: 0\r\n\r\n"});
  const auto connection = ChildConnection::Send(server.port(), {"GET", "/", {}, {}});
  ASSERT_TRUE(connection.has_value());
  while ((*connection)->ReadHead(1000) == Step::kNothing) {
  }
  EXPECT_EQ((*connection)->head().Header("x-one"), "two");
  EXPECT_FALSE((*connection)->head().streams);
}

TEST(ChildConnection, SaysThatNobodyListens) {
  int port = 0;
  {
    const OneAnswer server({});
    port = server.port();
    ASSERT_TRUE(ChildConnection::Send(port, {"GET", "/", {}, {}}).has_value());
  }
  const auto connection = ChildConnection::Send(port, {"GET", "/", {}, {}});
  ASSERT_FALSE(connection.has_value());
  EXPECT_EQ(connection.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace cairn
