#include "download/hub/hub_api.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/download/download_fixture.h"

namespace cairn {
namespace {

class HubApiTest : public DownloadTest {
 protected:
  Result<HubListing> List(const std::string& repo, const std::string& token = "") {
    WebGet web(&transfer_, {"https://hub.test", token});
    return HubApi(&web, "https://hub.test").List(repo);
  }
  void AnswerTree(const std::string& body) {
    hub_.SetFault([body](const HubAsked& asked, HubAnswer* answer) {
      if (asked.target.find("/tree/") != std::string::npos) answer->body = body;
    });
  }
};

TEST_F(HubApiTest, ListsTheFilesOfMainWithTheirSums) {
  hub_.Add("a/b", "m.gguf", "GGUF1");
  hub_.Add("a/b", "dir/n.gguf", "GGUF22", false);
  const auto listing = List("a/b");
  ASSERT_TRUE(listing.has_value()) << listing.error().message;
  EXPECT_EQ(listing->commit, hub_.CommitOf("a/b"));
  ASSERT_EQ(listing->files.size(), 2u);
  EXPECT_EQ(listing->files[0].path, "dir/n.gguf");
  EXPECT_EQ(listing->files[0].sum.digits, GitSumOf("GGUF22"));
  EXPECT_EQ(listing->files[1].sum.digits, Sha256Of("GGUF1"));
  EXPECT_EQ(listing->files[1].bytes, 5u);
}

TEST_F(HubApiTest, ChecksumsAreThoseThatOtherToolsCompute) {
  // sha256sum, and git hash-object --stdin
  EXPECT_EQ(Sha256Of("GGUF\n"), "68e0ec597aee59d35f8dc44942d7b17d471ade10d3aca07a5bb7177713950312");
  EXPECT_EQ(GitSumOf("GGUF\n"), "6aad6ce2ac9fa560abaa0bce36e0f6d2118ab69c");
}

TEST_F(HubApiTest, ReadsAllPages) {
  for (int i = 0; i < 25; ++i) hub_.Add("a/b", "f" + std::to_string(i) + ".gguf", "GGUF");
  hub_.SetPageSize(10);
  EXPECT_EQ(List("a/b")->files.size(), 25u);
}

TEST_F(HubApiTest, AMissingOrGatedRepositorySaysWhatToDo) {
  hub_.Add("a/b", "m.gguf", "GGUF");
  hub_.Gate("a/b", "hf_right");
  ExpectFails(List("no/thing"), ErrorCode::kUnauthorized, "there is no such repository");
  ExpectFails(List("a/b"), ErrorCode::kUnauthorized,
              "a/b is gated: accept its terms at https://hub.test/a/b and set the environment "
              "variable HF_TOKEN");
  ExpectFails(List("a/b", "hf_wrong"), ErrorCode::kUnauthorized,
              "the token in HF_TOKEN has no access to a/b");
  EXPECT_TRUE(List("a/b", "hf_right").has_value());
}

TEST_F(HubApiTest, WhatIsNoListingIsAnErrorAndUnsafePathsAreLeftOut) {
  hub_.Add("a/b", "m.gguf", "GGUF");
  for (const char* body : {"", "<html>", "{}", "[{", "nul"}) {
    AnswerTree(body);
    ExpectFails(List("a/b"), ErrorCode::kCorrupt, "something else than a list of files");
  }
  AnswerTree(R"([1, {"type": "file"}, {"type": "file", "path": 7},
                 {"type": "file", "path": "../../x.gguf", "oid": "1"},
                 {"type": "file", "path": "a.gguf", "oid": "zz", "size": -1}])");
  const auto listing = List("a/b");
  ASSERT_TRUE(listing.has_value()) << listing.error().message;
  ASSERT_EQ(listing->files.size(), 1u);
  EXPECT_FALSE(listing->files[0].sum.known());
  EXPECT_EQ(listing->files[0].bytes, 0u);
}

}  // namespace
}  // namespace cairn
