// On a real server.

#include "fleet/remote/valkey/valkey_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "testing/remote/real_server.h"
#include "testing/remote/upload_kills.h"

namespace cairn::valkey_store_test {
namespace {

constexpr int64_t kTtlS = 100;

Deadline Soon() {
  return DeadlineIn(10'000);
}

Bytes BytesLike(size_t size, uint8_t seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + seed + i / 4099);
  return bytes;
}

class ValkeyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::ValkeyProgram().empty()) GTEST_SKIP() << test::kNoValkey;
    Start({});
  }
  void Start(const std::vector<std::string>& more) {
    const uint16_t port = test::FreePort();
    server_ = std::make_unique<test::RealServer>(test::ValkeyCommand(port, more), port);
    ASSERT_TRUE(server_->WaitUntilListening(20));
    Connect("", "");
  }
  void Connect(const std::string& user, const std::string& password) {
    ValkeyOptions options;
    options.host = "127.0.0.1";
    options.port = server_->port();
    options.user = user;
    options.password = password;
    client_ = *ValkeyClient::Make(options);
    index_ = MakeValkeyIndex(client_.get());
    objects_ = MakeValkeyObjects(client_.get(), kTtlS);
  }
  std::vector<ValkeyReply> Do(const std::vector<std::string>& command) {
    ValkeyClient::Command arguments;
    for (const std::string& argument : command) arguments.push_back(BytesOf(argument));
    auto replies = client_->Run({arguments}, Soon());
    EXPECT_TRUE(replies) << replies.error().message;
    return replies ? *replies : std::vector<ValkeyReply>(1);
  }
  int64_t KeysStored() { return Do({"DBSIZE"}).front().number; }

  std::unique_ptr<test::RealServer> server_;
  std::unique_ptr<ValkeyClient> client_;
  std::unique_ptr<RemoteIndex> index_;
  std::unique_ptr<RemoteObjects> objects_;
};

RemoteEntry EntryAt(uint64_t number) {
  RemoteEntry entry;
  entry.id = {1, number + 1};
  entry.end = 512;
  entry.stored_bytes = 10;
  entry.written_s = static_cast<int64_t>(number);
  return entry;
}

TEST_F(ValkeyTest, IndexFindsWhatWasAddedUntilItIsRemoved) {
  ASSERT_TRUE(index_->Add({{"c1:a", EntryAt(1)}, {"c1:a", EntryAt(2)}, {"c1:b", EntryAt(3)}}, kTtlS,
                          Soon()));
  auto found = index_->Find({"c1:b", "c1:none", "c1:a"}, Soon());
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0], std::vector<RemoteEntry>{EntryAt(3)});
  EXPECT_TRUE((*found)[1].empty());
  EXPECT_EQ((*found)[2].size(), 2U);
  ASSERT_TRUE(index_->Remove("c1:b", EntryAt(3).id, Soon()));
  EXPECT_TRUE(index_->Find({"c1:b"}, Soon())->front().empty());
  EXPECT_GT(Do({"TTL", "c1:a"}).front().number, 0);
}

TEST_F(ValkeyTest, CrowdedKeyKeepsTheNewestEntries) {
  for (uint64_t number = 0; number < 1000; ++number) {
    ASSERT_TRUE(index_->Add({{"c1:a", EntryAt(number)}}, kTtlS, Soon()));
  }
  const auto found = index_->Find({"c1:a"}, Soon());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->front().size(), kEntriesPerKeyMax);
  for (const RemoteEntry& entry : found->front()) EXPECT_GE(entry.written_s, 900);
  EXPECT_LE(Do({"HLEN", "c1:a"}).front().number, 96);
}

TEST_F(ValkeyTest, ValuesThatAreNoEntriesAreLeftOut) {
  Do({"HSET", "c1:a", "x", "nonsense"});
  ASSERT_TRUE(index_->Add({{"c1:a", EntryAt(1)}}, kTtlS, Soon()));
  EXPECT_EQ(index_->Find({"c1:a"}, Soon())->front(), std::vector<RemoteEntry>{EntryAt(1)});
}

TEST_F(ValkeyTest, ObjectsComeBackWholeOrInPart) {
  for (const size_t size : {size_t{1}, kValkeyChunkBytes, 5 * kValkeyChunkBytes + 17}) {
    const std::string path = "v1/" + std::to_string(size);
    const Bytes bytes = BytesLike(size, 3);
    ASSERT_TRUE(objects_->Put(path, bytes, Soon()));
    EXPECT_EQ(*objects_->Get(path, size + 1, Soon()), bytes);
    const size_t part = size / 2;
    EXPECT_EQ(*objects_->Get(path, part, Soon()), Bytes(bytes.begin(), bytes.begin() + part));
  }
  EXPECT_EQ(objects_->Get("v1/none", 10, Soon()).error().code, ErrorCode::kNotFound);
}

TEST_F(ValkeyTest, SecondUploadChangesNothing) {
  ASSERT_TRUE(objects_->Put("v1/x", BytesLike(3'000'000, 1), Soon()));
  const int64_t keys = KeysStored();
  ASSERT_TRUE(objects_->Put("v1/x", BytesLike(3'000'000, 1), Soon()));
  EXPECT_EQ(KeysStored(), keys);
}

TEST_F(ValkeyTest, ConcurrentUploadsOfOneNameLeaveOneWholeObject) {
  for (int round = 0; round < 10; ++round) {
    Do({"FLUSHALL"});
    std::vector<std::thread> servers;
    for (uint8_t i = 0; i < 4; ++i) {
      servers.emplace_back(
          [this, i] { EXPECT_TRUE(objects_->Put("v1/x", BytesLike(2'500'000, i), Soon())); });
    }
    for (std::thread& server : servers) server.join();
    const auto bytes = objects_->Get("v1/x", 1 << 30, Soon());
    ASSERT_TRUE(bytes);
    bool whole = false;
    for (uint8_t i = 0; i < 4; ++i) whole = whole || *bytes == BytesLike(2'500'000, i);
    EXPECT_TRUE(whole);
    EXPECT_EQ(KeysStored(), 4);
  }
}

TEST_F(ValkeyTest, ObjectWithAnEvictedChunkIsGoneAndCanBeUploadedAgain) {
  const Bytes bytes = BytesLike(3'000'000, 1);
  ASSERT_TRUE(objects_->Put("v1/x", bytes, Soon()));
  const auto evict_one = [this] {
    const std::vector<ValkeyReply> found = Do({"KEYS", "c1c:*:1"});
    for (const ValkeyReply& key : found.front().list) {
      Do({"DEL", std::string(key.text.begin(), key.text.end())});
    }
  };
  evict_one();
  ASSERT_TRUE(objects_->Put("v1/x", bytes, Soon()));
  EXPECT_EQ(*objects_->Get("v1/x", 1 << 30, Soon()), bytes);
  evict_one();
  EXPECT_EQ(objects_->Get("v1/x", 1 << 30, Soon()).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(objects_->Put("v1/x", bytes, Soon()));
  EXPECT_EQ(*objects_->Get("v1/x", 1 << 30, Soon()), bytes);
}

TEST_F(ValkeyTest, KillInAnUploadLeavesAWholeObjectOrNone) {
  const auto connect = [this] {
    Do({"FLUSHALL"});  // the parts of earlier uploads
    Connect("", "");
    return objects_.get();
  };
  test::ExpectWholeOrNoneAfterKills(connect, BytesLike(6'000'000, 5), test::UploadKillsWanted(40),
                                    60'000);
}

TEST_F(ValkeyTest, ListsAndRemovesObjects) {
  for (const char* path : {"v1/a/1", "v1/a/2", "v1/b/1"}) {
    ASSERT_TRUE(objects_->Put(path, BytesLike(2'000'000, 1), Soon()));
  }
  std::map<std::string, uint64_t> listed;
  const auto visit = [&](const std::string& path, uint64_t bytes) { listed[path] = bytes; };
  ASSERT_TRUE(objects_->List("v1/a/", visit, Soon()));
  EXPECT_EQ(listed,
            (std::map<std::string, uint64_t>{{"v1/a/1", 2'000'000}, {"v1/a/2", 2'000'000}}));
  for (const char* path : {"v1/a/1", "v1/a/2", "v1/b/1", "v1/none"}) {
    ASSERT_TRUE(objects_->Remove(path, Soon()));
  }
  EXPECT_EQ(KeysStored(), 0);
}

TEST_F(ValkeyTest, FullServerIsNoSpaceAndIsStillRead) {
  Start({"--maxmemory", "24mb", "--maxmemory-policy", "noeviction"});
  ASSERT_TRUE(objects_->Put("v1/small", BytesLike(1000, 1), Soon()));
  const Status full = objects_->Put("v1/big", BytesLike(40'000'000, 1), Soon());
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kNoSpace) << full.error().message;
  EXPECT_TRUE(objects_->Get("v1/small", 1000, Soon()));
}

TEST_F(ValkeyTest, PasswordIsNeededAndNeverRepeated) {
  Start({"--requirepass", "correct-horse"});
  const auto without = objects_->Get("v1/x", 10, Soon());
  EXPECT_EQ(without.error().code, ErrorCode::kUnavailable);
  Connect("", "wrong-horse");
  const auto wrong = objects_->Get("v1/x", 10, Soon());
  EXPECT_EQ(wrong.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(wrong.error().message.find("wrong-horse"), std::string::npos);
  Connect("default", "correct-horse");
  EXPECT_TRUE(objects_->Put("v1/x", BytesLike(10, 1), Soon()));
}

TEST_F(ValkeyTest, StoppedServerIsATimeoutAndAKilledOneIsUnavailable) {
  ASSERT_TRUE(objects_->Put("v1/x", BytesLike(10, 1), Soon()));
  server_->Signal(SIGSTOP);
  EXPECT_EQ(objects_->Get("v1/x", 10, DeadlineIn(200)).error().code, ErrorCode::kTimedOut);
  server_->Signal(SIGCONT);
  // A connection that timed out is not used again: its late reply belongs to nobody.
  EXPECT_EQ(objects_->Get("v1/x", 10, Soon()).value(), BytesLike(10, 1));
  server_->Kill(SIGKILL);
  EXPECT_EQ(objects_->Get("v1/x", 10, Soon()).error().code, ErrorCode::kUnavailable);
}

TEST_F(ValkeyTest, CancelEndsTheCallThatHangsAndRefusesLaterOnes) {
  ASSERT_TRUE(objects_->Put("v1/x", BytesLike(10, 1), Soon()));
  server_->Signal(SIGSTOP);
  std::thread canceller([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    objects_->Cancel();
  });
  // A server that sends nothing would be a timeout.
  EXPECT_EQ(objects_->Get("v1/x", 10, Soon()).error().code, ErrorCode::kUnavailable);
  canceller.join();
  server_->Signal(SIGCONT);
  EXPECT_FALSE(objects_->Get("v1/x", 10, Soon()));
}

TEST(ValkeyCredentials, AreOneLine) {
  ValkeyOptions options;
  ASSERT_TRUE(ParseValkeyCredentials("cairn:secret:with:colons\n", &options));
  EXPECT_EQ(options.user, "cairn");
  EXPECT_EQ(options.password, "secret:with:colons");
  ASSERT_TRUE(ParseValkeyCredentials("alone", &options));
  EXPECT_EQ(options.password, "alone");
  for (const char* text : {"", "\n", "two\nlines"}) {
    EXPECT_FALSE(ParseValkeyCredentials(text, &options)) << text;
  }
}

}  // namespace
}  // namespace cairn::valkey_store_test
