#include "engine/llama/backend/rpc_address.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(RpcAddress, IsAHostAndAPort) {
  const auto address = ParseRpcAddress("10.1.2.3:50052");
  ASSERT_TRUE(address.has_value()) << address.error().message;
  EXPECT_EQ(address->host, "10.1.2.3");
  EXPECT_EQ(address->port, 50052);
  EXPECT_EQ(address->Text(), "10.1.2.3:50052");
  EXPECT_EQ(ParseRpcAddress("worker-2.lan:1")->host, "worker-2.lan");
}

TEST(RpcAddress, OfAnotherFormIsRefusedWithTheRightOne) {
  for (const char* text : {"", "10.1.2.3", ":50052", "host:", "host:0", "host:65536", "host:-1",
                           "host:5x", "host:99999999999", "[::1]:50052", "::1:50052"}) {
    const auto address = ParseRpcAddress(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(address.error().message.find("HOST:PORT"), std::string::npos) << text;
  }
}

TEST(RpcHost, OfThisMachineIsAlwaysAllowed) {
  EXPECT_EQ(ResolveRpcHost({"127.0.0.1", 1}, false).value_or(""), "127.0.0.1");
  EXPECT_EQ(ResolveRpcHost({"127.9.9.9", 1}, false).value_or(""), "127.9.9.9");
  EXPECT_EQ(ResolveRpcHost({"localhost", 1}, false).value_or("").substr(0, 4), "127.");
}

TEST(RpcHost, BeyondThisMachineNeedsTheFlagThatSaysSo) {
  for (const char* host : {"10.1.2.3", "192.168.0.7", "8.8.8.8", "0.0.0.0"}) {
    const auto refused = ResolveRpcHost({host, 50052}, false);
    ASSERT_FALSE(refused.has_value()) << host;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("--rpc-insecure"), std::string::npos);
    EXPECT_EQ(ResolveRpcHost({host, 50052}, true).value_or(""), host);
  }
}

TEST(RpcHost, ThatIsUnknownIsRefused) {
  const auto unknown = ResolveRpcHost({"no such host", 50052}, true);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("no such host"), std::string::npos);
}

}  // namespace
}  // namespace cairn
