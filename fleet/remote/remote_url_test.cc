#include "fleet/remote/remote_url.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(RemoteUrl, ParsesValkey) {
  const auto plain = ParseRemoteUrl("valkey://cache.lan:7000");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "cache.lan");
  EXPECT_EQ(plain->port, 7000);
  EXPECT_FALSE(plain->tls);
  const auto tls = ParseRemoteUrl("valkeys://[::1]/");
  ASSERT_TRUE(tls);
  EXPECT_EQ(tls->host, "::1");
  EXPECT_EQ(tls->port, 6379);
  EXPECT_TRUE(tls->tls);
  EXPECT_TRUE(ParseRemoteUrl("rediss://a:1")->tls);
}

TEST(RemoteUrl, ParsesS3) {
  const auto url = ParseRemoteUrl("s3://bucket-1/a/b/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->kind, RemoteUrl::Kind::kS3);
  EXPECT_EQ(url->bucket, "bucket-1");
  EXPECT_EQ(url->prefix, "a/b/");
  EXPECT_EQ(ParseRemoteUrl("s3://bucket")->prefix, "");
}

TEST(RemoteUrl, RefusesOthersWithTheFormsItKnows) {
  for (const char* text : {"", "valkey", "valkey://", "valkey://h:0", "valkey://h:66000",
                           "valkey://h:1x", "valkey://h/db", "valkey://[::1", "valkey://[::1]x",
                           "http://h", "s3://", "s3:///x", "s3://a b", "s3://a/b?c"}) {
    const auto url = ParseRemoteUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find("valkeys://HOST:PORT"), std::string::npos) << text;
  }
}

TEST(RemoteUrl, RefusesPasswordsWithoutRepeatingThem) {
  const auto url = ParseRemoteUrl("valkey://user:hunter2@host");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message.find("hunter2"), std::string::npos);
}

TEST(RemoteUrl, KnowsLoopback) {
  EXPECT_TRUE(IsLoopbackHost("127.0.0.1"));
  EXPECT_TRUE(IsLoopbackHost("::1"));
  EXPECT_FALSE(IsLoopbackHost("10.0.0.1"));
  EXPECT_FALSE(IsLoopbackHost("host.invalid"));
}

}  // namespace
}  // namespace cairn
