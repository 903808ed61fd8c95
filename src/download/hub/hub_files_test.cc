#include "download/hub/hub_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace cairn
