#include "download/hub/hub_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/download/download_fixture.h"

namespace cairn {
namespace {

std::vector<HubFile> Files(const std::vector<std::string>& paths) {
  std::vector<HubFile> files;
  for (const std::string& path : paths) files.push_back({path, 1, {}});
  return files;
}

std::string Chosen(const std::vector<std::string>& paths, const std::string& quant,
                   const std::string& file = "") {
  const auto model = ChooseModel(Files(paths), {"a/b", quant}, file);
  if (!model) return model.error().message;
  std::string all;
  for (const HubFile& part : *model) all += (all.empty() ? "" : " ") + part.path;
  return all;
}

std::string Projector(const std::vector<std::string>& paths, const std::string& model) {
  const auto projector = ChooseProjector(Files(paths), model);
  return projector ? projector->path : "none";
}

TEST(HubFiles, ANameIsAUserARepositoryAndPerhapsAQuantization) {
  EXPECT_EQ(ParseHubName("ggml-org/gemma-3-1b-it-GGUF")->repo, "ggml-org/gemma-3-1b-it-GGUF");
  EXPECT_EQ(ParseHubName("a/b.c_d:UD-Q4_K_XL")->quant, "UD-Q4_K_XL");
  for (const char* wrong : {"", "a", "a/", "/b", "a/b/c", "a/..", "../a", "a/b:", "a/b c", "a//b",
                            "a/-b", "a/b-", "a/b:Q4 0", "a/b:../x", "a/b?x=1"}) {
    EXPECT_FALSE(ParseHubName(wrong).has_value()) << wrong;
  }
}

TEST(HubFiles, APathOfAServerStaysInsideItsFolder) {
  for (const char* safe : {"a.gguf", "dir/a.gguf", "a b/..c.gguf", "ü.gguf"})
    EXPECT_TRUE(IsSafePath(safe)) << safe;
  for (const char* unsafe :
       {"", "/etc/passwd", "..", "../a", "a/../../b", "a//b", "a/", "./a", "a\\b", "a\nb", "a/./b"})
    EXPECT_FALSE(IsSafePath(unsafe)) << unsafe;
  EXPECT_FALSE(IsSafePath(std::string(2000, 'a')));
}

TEST(HubFiles, AFileNameEndsWithItsQuantization) {
  const auto quant = [](const char* path) { return QuantOf(*ParseGgufName(path)); };
  EXPECT_EQ(quant("d/m-Q4_K_M-00002-of-00010.gguf"), "Q4_K_M");
  EXPECT_EQ(quant("m.q8_0.gguf"), "Q8_0");
  EXPECT_EQ(quant("m.gguf"), "");
  EXPECT_EQ(quant("m-.gguf"), "");
}

TEST(HubFiles, WithoutAQuantizationItIsQ4KMThenQ8ThenTheFirst) {
  EXPECT_EQ(Chosen({"m-BF16.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf"}, ""), "m-Q4_K_M.gguf");
  EXPECT_EQ(Chosen({"m-BF16.gguf", "m-Q8_0.gguf"}, ""), "m-Q8_0.gguf");
  EXPECT_EQ(Chosen({"README.md", "m-F16.gguf", "m-IQ2_M.gguf"}, ""), "m-F16.gguf");
}

TEST(HubFiles, AQuantizationIsAWholeWordInAnyCase) {
  const std::vector<std::string> paths = {"m-BF16.gguf", "m-F16.gguf", "m-Q4_K_M.gguf",
                                          "m-UD-Q4_K_XL.gguf", "m-q5_0.gguf"};
  EXPECT_EQ(Chosen(paths, "f16"), "m-F16.gguf");
  EXPECT_EQ(Chosen(paths, "q4_k_m"), "m-Q4_K_M.gguf");
  EXPECT_EQ(Chosen(paths, "Q4_K_XL"), "m-UD-Q4_K_XL.gguf");
  EXPECT_EQ(Chosen(paths, "Q5_0"), "m-q5_0.gguf");
  // As in llama-server, a part of a word will do where no whole one is there.
  EXPECT_EQ(Chosen({"m-IQ4_XS.gguf"}, "Q4_XS"), "m-IQ4_XS.gguf");
}

TEST(HubFiles, ProjectorsAndOtherFilesAreNoModels) {
  EXPECT_EQ(
      Chosen({"imatrix-Q4_K_M.gguf", "mmproj-Q4_K_M.gguf", "mtp-m-Q4_K_M.gguf", "m-Q4_K_M.gguf"},
             ""),
      "m-Q4_K_M.gguf");
}

TEST(HubFiles, AllPartsOfASplitModelAreTakenInOrder) {
  const std::vector<std::string> paths = {"Q8_0/m-Q8_0-00002-of-00002.gguf",
                                          "Q8_0/m-Q8_0-00001-of-00002.gguf"};
  EXPECT_EQ(Chosen(paths, "Q8_0"),
            "Q8_0/m-Q8_0-00001-of-00002.gguf Q8_0/m-Q8_0-00002-of-00002.gguf");
  EXPECT_EQ(Chosen({"m-Q8_0-00001-of-00002.gguf"}, ""),
            "part 2 of 2 is missing: m-Q8_0-00002-of-00002.gguf");
}

TEST(HubFiles, AMissingQuantizationNamesThoseThatAreThereAndTheNearest) {
  EXPECT_EQ(
      Chosen({"m-Q4_K_M.gguf", "m-Q6_K.gguf", "m-Q8_0.gguf", "mmproj-F16.gguf"}, "Q5_K_M"),
      "a/b has no file of the quantization Q5_K_M, but Q4_K_M, Q6_K, Q8_0; the nearest is -hf "
      "a/b:Q4_K_M");
  EXPECT_EQ(Chosen({"model.safetensors"}, ""),
            "a/b has no GGUF model; look for a repository of GGUF files, often named …-GGUF");
}

TEST(HubFiles, AFileIsNamedInAnyCaseAndAMissingOneListsTheOthers) {
  EXPECT_EQ(Chosen({"d/M.gguf"}, "", "D/m.gguf"), "d/M.gguf");
  EXPECT_EQ(Chosen({"a.gguf", "b.gguf", "c.txt"}, "", "x.gguf"),
            "a/b has no file 'x.gguf', but a.gguf, b.gguf");
}

TEST(HubFiles, TheProjectorIsTheNearestOneInTheFoldersAboveTheModel) {
  EXPECT_EQ(Projector({"mmproj-F32.gguf", "mmproj-Q8_0.gguf"}, "m-Q4_K_M.gguf"),
            "mmproj-Q8_0.gguf");
  EXPECT_EQ(
      Projector({"mmproj-F16.gguf", "a/mmproj-F32.gguf", "b/mmproj-Q4_0.gguf"}, "a/m-Q4_0.gguf"),
      "a/mmproj-F32.gguf");
  EXPECT_EQ(Projector({"b/mmproj-F16.gguf"}, "a/m.gguf"), "none");
}

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
