#include "engine/llama/backend/rpc_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cairn {
namespace {

bool IsKeptAlive(int fd) {
  int on = 0;
  socklen_t size = sizeof(on);
  EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
  return on != 0;
}

// A listening socket, and a connection to it whose both ends are in this process.
class RpcSockets : public ::testing::Test {
 protected:
  RpcSockets() {
    place_.sin_family = AF_INET;
    place_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listening_, address(), sizeof(place_)), 0);
    EXPECT_EQ(listen(listening_, 4), 0);
    socklen_t size = sizeof(place_);
    EXPECT_EQ(getsockname(listening_, address(), &size), 0);
  }
  ~RpcSockets() override {
    for (const int fd : {accepted_, connected_, listening_}) {
      if (fd >= 0) close(fd);
    }
  }

  void Connect() {
    EXPECT_EQ(connect(connected_, address(), sizeof(place_)), 0);
    accepted_ = accept(listening_, nullptr, nullptr);
    ASSERT_GE(accepted_, 0);
  }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&place_); }
  int port() const { return ntohs(place_.sin_port); }

  sockaddr_in place_{};
  int listening_ = socket(AF_INET, SOCK_STREAM, 0);
  const int connected_ = socket(AF_INET, SOCK_STREAM, 0);
  int accepted_ = -1;
};

TEST_F(RpcSockets, ThatAreAcceptedInheritWhatTheListeningOneHas) {
  EXPECT_TRUE(KeepAcceptedAlive(port()));
  Connect();
  EXPECT_TRUE(IsKeptAlive(accepted_));
  EXPECT_FALSE(IsKeptAlive(connected_));
}

TEST_F(RpcSockets, OfAPeerAreKeptAliveAndNoOthers) {
  Connect();
  EXPECT_EQ(KeepConnectionsAlive({{"127.0.0.2", port()}, {"127.0.0.1", port() ^ 1}}), 0U);
  EXPECT_FALSE(IsKeptAlive(connected_));
  EXPECT_EQ(KeepConnectionsAlive({{"127.0.0.1", port()}}), 1U);
  EXPECT_TRUE(IsKeptAlive(connected_));
  EXPECT_FALSE(IsKeptAlive(accepted_));
}

TEST_F(RpcSockets, OfAPortWhereNobodyListensAreNone) {
  const int free_port = port();
  close(listening_);
  listening_ = -1;
  EXPECT_FALSE(KeepAcceptedAlive(free_port));
}

}  // namespace
}  // namespace cairn
