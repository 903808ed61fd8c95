#include "base/net/loopback.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace cairn {
namespace {

bool V4(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, text, &address.sin_addr), 1) << text;
  return IsLoopback(reinterpret_cast<const sockaddr*>(&address));
}

bool V6(const char* text) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &address.sin6_addr), 1) << text;
  return IsLoopback(reinterpret_cast<const sockaddr*>(&address));
}

TEST(Loopback, IsEveryAddressOfThisMachineAlone) {
  EXPECT_TRUE(V4("127.0.0.1"));
  EXPECT_TRUE(V4("127.255.0.9"));
  EXPECT_TRUE(V6("::1"));
  EXPECT_TRUE(V6("::ffff:127.0.0.1"));
}

TEST(Loopback, IsNoAddressThatOthersReach) {
  for (const char* text : {"0.0.0.0", "10.0.0.1", "128.0.0.1", "192.168.1.2"}) {
    EXPECT_FALSE(V4(text)) << text;
  }
  for (const char* text : {"::", "fe80::1", "::ffff:10.0.0.1"}) EXPECT_FALSE(V6(text)) << text;
}

}  // namespace
}  // namespace cairn
