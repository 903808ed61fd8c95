// A peer that speaks Valkey's protocol and is none.

#include "fleet/remote/valkey/valkey_client.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "fleet/remote/valkey/valkey_store.h"
#include "testing/remote/reply_server.h"

namespace cairn::valkey_client_test {
namespace {

using test::ReplyServer;
using Type = ValkeyReply::Type;

Deadline Soon() {
  return DeadlineIn(30'000);
}

std::unique_ptr<ValkeyClient> ClientOf(const ReplyServer& server) {
  ValkeyOptions options;
  options.host = "127.0.0.1";
  options.port = server.port();
  return *ValkeyClient::Make(options);
}

std::string Repeated(std::string_view text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Sends one command, and returns the reply to it.
Result<ValkeyReply> ReplyTo(const std::string& reply) {
  const ReplyServer server([&](std::string_view) { return reply; });
  const auto client = ClientOf(server);
  const std::string ping = "PING";
  auto replies = client->Run({{BytesOf(ping)}}, Soon());
  if (!replies) return tl::unexpected(replies.error());
  return replies->front();
}

std::string TextOf(const ValkeyReply& reply) {
  return {reply.text.begin(), reply.text.end()};
}

void ExpectNonsense(const std::string& reply, const std::string& why) {
  const auto got = ReplyTo(reply);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(got.error().message.find("makes no sense: " + why), std::string::npos)
      << got.error().message;
}

TEST(ValkeyClient, ReadsRepliesOfEveryKind) {
  EXPECT_EQ(TextOf(*ReplyTo("+OK\r\n")), "OK");
  EXPECT_EQ(TextOf(*ReplyTo("$5\r\nbytes\r\n")), "bytes");
  EXPECT_EQ(ReplyTo(":-7\r\n")->number, -7);
  EXPECT_EQ(ReplyTo("$-1\r\n")->type, Type::kNil);
  EXPECT_EQ(ReplyTo("*-1\r\n")->type, Type::kNil);
  EXPECT_EQ(ReplyTo("*0\r\n")->type, Type::kList);
  const auto page = ReplyTo("*2\r\n$1\r\n0\r\n*3\r\n$1\r\na\r\n:5\r\n$-1\r\n");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->list.size(), 2U);
  EXPECT_EQ(TextOf(page->list[0]), "0");
  ASSERT_EQ(page->list[1].list.size(), 3U);
  EXPECT_EQ(TextOf(page->list[1].list[0]), "a");
  EXPECT_EQ(page->list[1].list[1].number, 5);
  EXPECT_EQ(page->list[1].list[2].type, Type::kNil);
  const auto error = ReplyTo("-OOM it is full\r\n");
  EXPECT_EQ(error.error().code, ErrorCode::kNoSpace);
}

TEST(ValkeyClient, RepliesOfOneBatchComeInTheirOrderOverOneConnection) {
  int asked = 0;
  const ReplyServer server([&](std::string_view) {
    ++asked;
    return Repeated(":1\r\n", 2) + "*1\r\n$1\r\nx\r\n";
  });
  const auto client = ClientOf(server);
  const std::string ping = "PING";
  const ValkeyClient::Command command = {BytesOf(ping)};
  for (int i = 0; i < 3; ++i) {
    const auto replies = client->Run({command, command, command}, Soon());
    ASSERT_TRUE(replies) << replies.error().message;
    ASSERT_EQ(replies->size(), 3U);
    EXPECT_EQ(TextOf(replies->back().list.front()), "x");
  }
  EXPECT_EQ(asked, 3);
}

// Each list costs five bytes; freeing them took a frame of the stack each.
TEST(ValkeyClient, NestedListsAreRefused) {
  ExpectNonsense(Repeated("*1\r\n", 200'000), "lists in lists");
  ExpectNonsense(Repeated("*1\r\n", 6) + ":1\r\n", "lists in lists");
  EXPECT_TRUE(ReplyTo(Repeated("*1\r\n", 4) + ":1\r\n"));
}

TEST(ValkeyClient, TooManyValuesAndBytesAreRefused) {
  ExpectNonsense("*2000000\r\n" + Repeated(":1\r\n", 2'000'000), "more values");
  ExpectNonsense("$9000000000\r\n" + std::string(size_t{80} << 20, 'x'), "more bytes");
}

TEST(ValkeyClient, WhatIsNoReplyIsRefused) {
  ExpectNonsense("HTTP/1.1 400 Bad Request\r\n\r\n", "");
  ExpectNonsense("$-7\r\n", "");
  ExpectNonsense("*99999999999999999999\r\n", "");
}

TEST(ValkeyClient, AnIndexThatNestsIsAMissAndTheNextCallConnectsAnew) {
  bool nests = true;
  const ReplyServer server([&](std::string_view) {
    return nests ? Repeated("*1\r\n", 200'000) : std::string("*0\r\n");
  });
  const auto client = ClientOf(server);
  const auto index = MakeValkeyIndex(client.get());
  EXPECT_EQ(index->Find({"c1:a"}, Soon()).error().code, ErrorCode::kUnavailable);
  nests = false;
  EXPECT_TRUE(index->Find({"c1:a"}, Soon()));
}

#ifndef CAIRN_SANITIZED  // sanitizers need far more address space

// Limits the address space to a gigabyte more than is in use.
void LimitMemory() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 30);
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

TEST(ValkeyClientDeathTest, TheSizeInAHeadIsNotAllocated) {
  const ReplyServer server([](std::string_view received) -> std::string {
    if (received.find("c1o:") == std::string_view::npos) return Repeated("$-1\r\n", 4);
    return "$19\r\n8589934592 upload12\r\n";
  });
  EXPECT_EXIT(
      {
        LimitMemory();
        const auto client = ClientOf(server);
        const auto objects = MakeValkeyObjects(client.get(), 100);
        const auto got = objects->Get("v1/x", uint64_t{8} << 30, Soon());
        _exit(!got && got.error().code == ErrorCode::kNotFound ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(ValkeyClientDeathTest, TheLengthOfAListIsNotAllocated) {
  EXPECT_EXIT(
      {
        LimitMemory();
        const auto got = ReplyTo("*2000000000\r\n" + Repeated(":1\r\n", 2'000'000));
        const bool refused = !got && got.error().message.find("more values") != std::string::npos;
        _exit(refused ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

#endif  // CAIRN_SANITIZED

}  // namespace
}  // namespace cairn::valkey_client_test
