#include "engine/llama/backend/rpc_hello.h"

#include <arpa/inet.h>
#include <ggml-rpc.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace cairn {
namespace {

constexpr int kShortMs = 200;
constexpr int kPatienceMs = 30'000;

// A socket that listens on a free port of this machine, and a thread for its first connection.
class Listening {
 public:
  explicit Listening(std::function<void(int fd)> serve = nullptr)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    EXPECT_EQ(bind(fd_, address, sizeof(place)), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    socklen_t size = sizeof(place);
    getsockname(fd_, address, &size);
    address_ = {"127.0.0.1", ntohs(place.sin_port)};
    if (!serve) return;
    thread_ = std::thread([this, serve = std::move(serve)] {
      const int connection = accept(fd_, nullptr, nullptr);
      serve(connection);
      close(connection);
    });
  }
  ~Listening() {
    if (thread_.joinable()) thread_.join();
    close(fd_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  const RpcAddress& address() const { return address_; }

 private:
  const int fd_;
  RpcAddress address_;
  std::thread thread_;
};

void Read(int fd, size_t bytes) {
  std::vector<uint8_t> read(bytes);
  EXPECT_EQ(recv(fd, read.data(), read.size(), MSG_WAITALL), static_cast<ssize_t>(bytes));
}

void Write(int fd, const std::vector<uint8_t>& bytes) {
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

std::function<void(int)> AnswersVersion(uint8_t major, uint8_t minor) {
  return [major, minor](int fd) {
    Read(fd, 33);
    std::vector<uint8_t> answer(8 + 28);
    answer[0] = 28;
    answer[8] = major;
    answer[9] = minor;
    Write(fd, answer);
  };
}

std::string Refusal(const Status& status) {
  EXPECT_FALSE(status.has_value());
  return status ? "" : status.error().message;
}

TEST(RpcHello, IsAnsweredByAWorkerOfTheSameVersion) {
  const Listening worker(AnswersVersion(RPC_PROTO_MAJOR_VERSION, RPC_PROTO_MINOR_VERSION));
  const Status greeted = GreetRpcWorker(worker.address(), "127.0.0.1", kPatienceMs);
  EXPECT_TRUE(greeted.has_value()) << greeted.error().message;
}

TEST(RpcHello, OfAnotherVersionIsRefusedWithBothVersions) {
  const Listening worker(AnswersVersion(3, 1));
  const std::string why = Refusal(GreetRpcWorker(worker.address(), "127.0.0.1", kPatienceMs));
  EXPECT_NE(why.find("version 3.1.0"), std::string::npos) << why;
  EXPECT_NE(why.find("this program " + std::to_string(RPC_PROTO_MAJOR_VERSION) + "."),
            std::string::npos)
      << why;
}

TEST(RpcHello, WhereNobodyListensSaysWhatToStart) {
  RpcAddress address;
  {
    const Listening ended;
    address = ended.address();
  }
  const std::string why = Refusal(GreetRpcWorker(address, "127.0.0.1", kPatienceMs));
  EXPECT_NE(why.find(address.Text() + " cannot be reached"), std::string::npos) << why;
  EXPECT_NE(why.find("cairn rpc-server --port"), std::string::npos) << why;
  EXPECT_FALSE(AcceptsConnections(address, "127.0.0.1", kPatienceMs));
}

TEST(RpcHello, ToAWorkerThatServesAnotherSaysSo) {
  const Listening busy;
  const std::string why = Refusal(GreetRpcWorker(busy.address(), "127.0.0.1", kShortMs));
  EXPECT_NE(why.find("one server at a time"), std::string::npos) << why;
  EXPECT_TRUE(AcceptsConnections(busy.address(), "127.0.0.1", kPatienceMs));
}

TEST(RpcHello, ToAnotherProgramIsRefused) {
  const Listening speaks_http([](int fd) {
    const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n";
    Write(fd, std::vector<uint8_t>(text.begin(), text.end()));
    Read(fd, 33);
  });
  const Listening hangs_up([](int fd) { Read(fd, 33); });
  for (const Listening* other : {&speaks_http, &hangs_up}) {
    const std::string why = Refusal(GreetRpcWorker(other->address(), "127.0.0.1", kPatienceMs));
    EXPECT_NE(why.find("does not answer as one"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace cairn
