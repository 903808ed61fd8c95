#include "fleet/remote/s3/s3_objects.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "fleet/remote/s3/s3_index.h"
#include "testing/remote/fake_remote.h"
#include "testing/remote/seaweed.h"
#include "testing/remote/upload_kills.h"

namespace cairn {
namespace {

Deadline Soon() {
  return DeadlineIn(20'000);
}

Bytes BytesLike(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 4099);
  return bytes;
}

TEST(S3Text, ParsesEndpoints) {
  const auto endpoint = ParseS3Endpoint("https://s3.lan:9000/");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "s3.lan");
  EXPECT_TRUE(endpoint->tls);
  EXPECT_EQ(ParseS3Endpoint("http://[::1]:8333")->host, "::1");
  for (const char* text : {"", "s3.lan", "ftp://s3", "https://", "https://a/b", "http://a@b"}) {
    EXPECT_FALSE(ParseS3Endpoint(text)) << text;
  }
}

TEST(S3Text, ParsesTheFirstProfileOfCredentials) {
  S3Options options;
  ASSERT_TRUE(ParseAwsCredentials(
      "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\naws_session_token = C\n"
      "[other]\naws_access_key_id = X\n",
      &options));
  EXPECT_EQ(options.access_key, "A");
  EXPECT_EQ(options.secret_key, "B=");
  EXPECT_EQ(options.session_token, "C");
  S3Options none;
  const Status failed = ParseAwsCredentials("aws_secret_access_key = hunter2", &none);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message.find("hunter2"), std::string::npos);
}

TEST(S3Text, ParsesPagesOfLists) {
  const auto page = ParseS3Page(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>a&amp;b</NextContinuationToken><Contents><Key>v1/&lt;a</Key>"
      "<Size>17</Size></Contents><Contents><Key>v1/b</Key><Size>0</Size></Contents>"
      "</ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, "a&b");
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(page->objects[0].key, "v1/<a");
  EXPECT_EQ(page->objects[0].bytes, 17U);
  EXPECT_FALSE(ParseS3Page("<html>"));
  EXPECT_FALSE(ParseS3Page("<ListBucketResult><IsTruncated>true</IsTruncated>"));
}

TEST(S3Index, FindsWhatWasAddedUntilItIsRemoved) {
  test::FakeRemote store;
  test::FaultyRemote view(&store, 1);
  const auto index = MakeS3Index(view.objects());
  RemoteEntry entry;
  entry.id = {1, 2};
  entry.end = 700;
  entry.stored_bytes = 10;
  RemoteEntry other = entry;
  other.id = {3, 4};
  other.end = 600;
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("c1:f:n:" + std::to_string(i));
  ASSERT_TRUE(index->Add({{keys[3], entry}, {keys[3], other}, {keys[30], entry}}, 1, Soon()));
  entry.written_s = 5;
  ASSERT_TRUE(index->Add({{keys[3], entry}}, 1, Soon()));
  entry.written_s = 0;
  const auto found = index->Find(keys, Soon());
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[3], (std::vector<RemoteEntry>{other, entry}));
  EXPECT_EQ((*found)[30], std::vector<RemoteEntry>{entry});
  EXPECT_TRUE((*found)[4].empty());
  ASSERT_TRUE(index->Remove(keys[3], {1, 2}, Soon()));
  EXPECT_EQ(index->Find(keys, Soon())->at(3), std::vector<RemoteEntry>{other});
  view.SetFault(test::RemoteFault::kRefusing);
  EXPECT_FALSE(index->Find(keys, Soon()));
}

// On SeaweedFS, started once for all tests: it takes a while.
class S3Test : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!test::SeaweedProgram().empty()) seaweed_ = new test::Seaweed;
  }
  static void TearDownTestSuite() {
    delete seaweed_;
    seaweed_ = nullptr;
  }

  void SetUp() override {
    if (seaweed_ == nullptr) GTEST_SKIP() << test::kNoSeaweed;
    objects_ = *MakeS3Objects(seaweed_->Options());
    const Status accepting = seaweed_->WaitUntilAccepting(objects_.get());
    ASSERT_TRUE(accepting) << accepting.error().message;
  }

  static test::Seaweed* seaweed_;
  std::unique_ptr<RemoteObjects> objects_;
};

test::Seaweed* S3Test::seaweed_ = nullptr;

TEST_F(S3Test, ObjectsComeBackWholeOrInPart) {
  for (const size_t size : {size_t{1}, size_t{70'000}, size_t{9'000'017}}) {
    const std::string path = "v1/" + std::to_string(size);
    const Bytes bytes = BytesLike(size);
    ASSERT_TRUE(objects_->Put(path, bytes, Soon()));
    const auto whole = objects_->Get(path, size + 1, Soon());
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(*whole, bytes);
    const auto part = objects_->Get(path, size / 2 + 1, Soon());
    ASSERT_TRUE(part);
    EXPECT_EQ(*part, Bytes(bytes.begin(), bytes.begin() + size / 2 + 1));
  }
  EXPECT_EQ(objects_->Get("v1/none", 10, Soon()).error().code, ErrorCode::kNotFound);
}

TEST_F(S3Test, SecondUploadChangesNothing) {
  ASSERT_TRUE(objects_->Put("v1/once", BytesLike(100), Soon()));
  ASSERT_TRUE(objects_->Put("v1/once", BytesLike(50), Soon()));
  EXPECT_EQ(objects_->Get("v1/once", 1000, Soon())->size(), 100U);
}

TEST_F(S3Test, ListsAndRemovesObjects) {
  for (const char* path : {"v1/l/1", "v1/l/2", "v1/m/1"}) {
    ASSERT_TRUE(objects_->Put(path, BytesLike(20), Soon()));
  }
  std::map<std::string, uint64_t> listed;
  const auto visit = [&](const std::string& path, uint64_t bytes) { listed[path] = bytes; };
  const Status done = objects_->List("v1/l/", visit, Soon());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(listed, (std::map<std::string, uint64_t>{{"v1/l/1", 20}, {"v1/l/2", 20}}));
  ASSERT_TRUE(objects_->Remove("v1/l/1", Soon()));
  ASSERT_TRUE(objects_->Remove("v1/l/1", Soon()));
  EXPECT_EQ(objects_->Get("v1/l/1", 10, Soon()).error().code, ErrorCode::kNotFound);
}

TEST_F(S3Test, ServesAsTheIndexToo) {
  const auto index = MakeS3Index(objects_.get());
  RemoteEntry entry;
  entry.id = {1, 2};
  entry.end = 700;
  entry.stored_bytes = 10;
  std::vector<std::string> keys;
  for (int i = 0; i < 64; ++i) keys.push_back("c1:f:n:" + std::to_string(i));
  const Status added = index->Add({{keys[7], entry}}, 1, Soon());
  ASSERT_TRUE(added) << added.error().message;
  const auto found = index->Find(keys, Soon());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)[7], std::vector<RemoteEntry>{entry});
}

TEST_F(S3Test, WrongSecretIsRefusedAndNotRepeated) {
  S3Options options = seaweed_->Options();
  options.secret_key = "wrong-secret";
  const auto refused = (*MakeS3Objects(options))->Get("v1/first", 10, Soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("403"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("wrong-secret"), std::string::npos);
}

TEST_F(S3Test, KillInAnUploadLeavesAWholeObjectOrNone) {
  const auto connect = [this] {
    objects_ = *MakeS3Objects(seaweed_->Options());
    return objects_.get();
  };
  test::ExpectWholeOrNoneAfterKills(connect, BytesLike(6'000'000), test::UploadKillsWanted(20),
                                    100'000);
}

TEST_F(S3Test, StoppedServerIsATimeout) {
  seaweed_->server().Signal(SIGSTOP);
  const auto hung = objects_->Get("v1/first", 10, DeadlineIn(300));
  seaweed_->server().Signal(SIGCONT);
  EXPECT_EQ(hung.error().code, ErrorCode::kTimedOut);
  EXPECT_TRUE(objects_->Get("v1/first", 10, Soon()));
}

}  // namespace
}  // namespace cairn
