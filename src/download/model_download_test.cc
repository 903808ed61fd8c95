#include "download/model_download.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "download/part_file.h"
#include "testing/download/download_fixture.h"

namespace cairn {
namespace {

using Variables = std::map<std::string, std::string>;

DownloadSettings Settings(const Variables& variables) {
  return SettingsOf([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(DownloadSettings, TheHubIsHuggingFaceUnlessAVariableNamesAnother) {
  EXPECT_EQ(Settings({}).endpoint, "https://huggingface.co/");
  EXPECT_EQ(Settings({{"HF_ENDPOINT", "https://mirror.test"}}).endpoint, "https://mirror.test/");
  EXPECT_EQ(Settings({{"HF_ENDPOINT", "https://a/"}, {"MODEL_ENDPOINT", "https://b/"}}).endpoint,
            "https://b/");
}

TEST(DownloadSettings, TheFolderIsThatOfLlamaServerAndHuggingFaceHub) {
  Variables variables = {{"HOME", "/home/ada"}};
  EXPECT_EQ(Settings(variables).hub_folder, "/home/ada/.cache/huggingface/hub");
  EXPECT_EQ(Settings(variables).url_folder, "/home/ada/.cache/cairn-urls");
  variables["XDG_CACHE_HOME"] = "/x";
  EXPECT_EQ(Settings(variables).hub_folder, "/x/huggingface/hub");
  variables["HF_HOME"] = "/hf";
  EXPECT_EQ(Settings(variables).hub_folder, "/hf/hub");
  variables["HUGGINGFACE_HUB_CACHE"] = "/old";
  EXPECT_EQ(Settings(variables).hub_folder, "/old");
  variables["HF_HUB_CACHE"] = "/hub";
  EXPECT_EQ(Settings(variables).hub_folder, "/hub");
  variables["LLAMA_CACHE"] = "/llama";
  EXPECT_EQ(Settings(variables).hub_folder, "/llama");
  EXPECT_EQ(Settings(variables).url_folder, "/llama/cairn-urls");
  EXPECT_EQ(Settings({}).hub_folder, "");
}

TEST(DownloadSettings, TheTokenIsTheVariablesOrThatOfTheFileOfALogin) {
  const std::string folder = testing::TempDir() + "cairn_token_" + std::to_string(getpid());
  std::ofstream(folder) << "hf_fromfile\n";
  EXPECT_EQ(Settings({{"HF_TOKEN", "hf_abc"}, {"HF_TOKEN_PATH", folder}}).token, "hf_abc");
  EXPECT_EQ(Settings({{"HF_TOKEN_PATH", folder}}).token, "hf_fromfile");
  unlink(folder.c_str());
  EXPECT_EQ(Settings({{"HF_TOKEN_PATH", folder}}).token, "");
  // No end of line may get into a header.
  EXPECT_EQ(Settings({{"HF_TOKEN", " hf_abc\r\nX-Evil: 1"}}).token, "hf_abc");
}

TEST(DownloadSettings, OfflineIsAVariableToo) {
  EXPECT_FALSE(Settings({}).offline);
  EXPECT_FALSE(Settings({{"HF_HUB_OFFLINE", "0"}}).offline);
  EXPECT_TRUE(Settings({{"HF_HUB_OFFLINE", "1"}}).offline);
  EXPECT_TRUE(Settings({{"LLAMA_OFFLINE", "true"}}).offline);
}

class ModelDownloadTest : public DownloadTest {
 protected:
  ModelDownloadTest() {
    hub_.Add("made/model", "m-Q4_K_M.gguf", q4_);
    hub_.Add("made/model", "m-Q8_0-00001-of-00002.gguf", MadeContent(9000, 2));
    hub_.Add("made/model", "m-Q8_0-00002-of-00002.gguf", MadeContent(8000, 3));
    hub_.Add("made/model", "mmproj-F16.gguf", MadeContent(500, 4), false);
  }
  void Disconnect() {
    hub_.SetFault([](const HubAsked&, HubAnswer* answer) { answer->refuses = true; });
  }
  const std::string q4_ = MadeContent(20'000, 1);
};

TEST_F(ModelDownloadTest, DownloadsTheModelAndItsProjector) {
  const auto model = FromHub("made/model");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->path, folder_ + "/hub/models--made--model/snapshots/" +
                             hub_.CommitOf("made/model") + "/m-Q4_K_M.gguf");
  EXPECT_EQ(ContentOf(model->path), q4_);
  EXPECT_EQ(ContentOf(model->projector_path), MadeContent(500, 4));
  EXPECT_EQ(ContentOf(folder_ + "/hub/models--made--model/refs/main"), hub_.CommitOf("made/model"));
}

TEST_F(ModelDownloadTest, WithoutAProjectorNoneIsDownloaded) {
  const auto model = FromHub("made/model", "", false);
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->projector_path, "");
  EXPECT_EQ(hub_.CountOf("GET", "mmproj"), 0u);
}

TEST_F(ModelDownloadTest, AllPartsOfASplitModelLieSideBySide) {
  const auto model = FromHub("made/model:Q8_0");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(ContentOf(model->path), MadeContent(9000, 2));
  const auto name = ParseGgufName(model->path);
  EXPECT_EQ(ContentOf(PartName(*name, 2)), MadeContent(8000, 3));
}

TEST_F(ModelDownloadTest, TheSecondStartDownloadsNothingAndANewCommitOnlyWhatChanged) {
  ASSERT_TRUE(FromHub("made/model").has_value());
  ASSERT_TRUE(FromHub("made/model").has_value());
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 1u);
  hub_.Add("made/model", "README.md", "new", false);
  const auto same = FromHub("made/model");
  EXPECT_NE(same->path.find(hub_.CommitOf("made/model")), std::string::npos);
  EXPECT_EQ(ContentOf(same->path), q4_);
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 1u);
  hub_.Add("made/model", "m-Q4_K_M.gguf", MadeContent(100, 9));
  EXPECT_EQ(ContentOf(FromHub("made/model")->path), MadeContent(100, 9));
}

TEST_F(ModelDownloadTest, OfflineOnlyTheCacheIsAsked) {
  settings_.offline = true;
  ExpectFails(FromHub("made/model"), ErrorCode::kNotFound, "--offline");
  EXPECT_TRUE(hub_.asked().empty());
  settings_.offline = false;
  const auto online = FromHub("made/model");
  const size_t asked = hub_.asked().size();
  settings_.offline = true;
  const auto offline = FromHub("made/model");
  ASSERT_TRUE(offline.has_value()) << offline.error().message;
  EXPECT_EQ(offline->path, online->path);
  EXPECT_EQ(offline->projector_path, online->projector_path);
  ExpectFails(FromHub("made/model:Q8_0"), ErrorCode::kNotFound, "is not in " + folder_ + "/hub");
  EXPECT_EQ(hub_.asked().size(), asked);
}

TEST_F(ModelDownloadTest, AHubThatCannotBeReachedIsNoErrorIfTheFilesAreHere) {
  ASSERT_TRUE(FromHub("made/model").has_value());
  Disconnect();
  EXPECT_EQ(ContentOf(FromHub("made/model")->path), q4_);
  EXPECT_TRUE(Said("the hub cannot be asked: connection refused")) << said_;
  ExpectFails(FromHub("other/model"), ErrorCode::kUnavailable, "connection refused");
}

TEST_F(ModelDownloadTest, AHalfSplitModelIsNotServedOffline) {
  hub_.SetFault([](const HubAsked& asked, HubAnswer* answer) {
    if (asked.target.find("00002-of-00002") != std::string::npos) answer->status = 404;
  });
  ExpectFails(FromHub("made/model:Q8_0"), ErrorCode::kNotFound, "404");
  settings_.offline = true;
  ExpectFails(FromHub("made/model:Q8_0"), ErrorCode::kNotFound, "--offline");
}

TEST_F(ModelDownloadTest, RoomForAllFilesIsCheckedBeforeTheFirst) {
  hooks_.free_bytes = [](const std::string&) -> Result<uint64_t> { return 16'999; };
  ExpectFails(FromHub("made/model:Q8_0", "", false), ErrorCode::kNoSpace, "17000 bytes more");
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 0u);
}

TEST_F(ModelDownloadTest, ABegunDownloadNeedsRoomForItsRestAlone) {
  transfer_.KillAfter(15'000);
  EXPECT_THROW(static_cast<void>(FromHub("made/model", "", false)), KilledHere);
  transfer_.KillAfter(SIZE_MAX);
  hooks_.free_bytes = [](const std::string&) -> Result<uint64_t> { return 8000; };
  const auto model = FromHub("made/model", "", false);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(ContentOf(model->path), q4_);
}

TEST_F(ModelDownloadTest, TheTokenOpensAGatedRepositoryAndStaysWithTheHub) {
  hub_.Gate("made/model", "hf_secret");
  ExpectFails(FromHub("made/model"), ErrorCode::kUnauthorized, "HF_TOKEN");
  settings_.token = "hf_secret";
  ASSERT_TRUE(FromHub("made/model").has_value());
  size_t of_cdn = 0;
  for (const HubAsked& asked : hub_.asked()) {
    if (asked.origin != "https://cdn.test") continue;
    ++of_cdn;
    EXPECT_EQ(asked.Header("Authorization"), "");
  }
  EXPECT_EQ(of_cdn, 1u);
}

TEST_F(ModelDownloadTest, FilesOfOtherProgramsAreCheckedOnceAndDamagedOnesReplaced) {
  const std::string blob = folder_ + "/hub/models--made--model/blobs/" + Sha256Of(q4_);
  std::filesystem::create_directories(std::filesystem::path(blob).parent_path());
  std::ofstream(blob) << q4_;
  ASSERT_TRUE(FromHub("made/model", "", false).has_value());
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 0u);
  std::ofstream(blob) << q4_.substr(0, 19'000);
  EXPECT_EQ(ContentOf(FromHub("made/model", "", false)->path), q4_);
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 1u);
}

TEST_F(ModelDownloadTest, AUrlIsDownloadedAndComparedByItsETag) {
  hub_.AddPlain("/x/m.gguf", q4_, "\"v1\"");
  const std::string url = "https://web.test/x/m.gguf?key=1";
  const auto first = FromUrl(url);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(ContentOf(*first), q4_);
  EXPECT_EQ(*FromUrl(url), *first);
  EXPECT_EQ(hub_.CountOf("GET", "/x/"), 1u);
  hub_.AddPlain("/x/m.gguf", MadeContent(100, 5), "\"v2\"");
  EXPECT_EQ(ContentOf(*FromUrl(url)), MadeContent(100, 5));
  Disconnect();
  EXPECT_EQ(ContentOf(*FromUrl(url)), MadeContent(100, 5));
  settings_.offline = true;
  EXPECT_TRUE(FromUrl(url).has_value());
  ExpectFails(FromUrl("https://web.test/x/n.gguf"), ErrorCode::kNotFound, "--offline");
}

TEST_F(ModelDownloadTest, AWholePartOfAUrlIsTakenOnlyIfItIsTheVersionOfTheServer) {
  const std::string path = folder_ + "/mine.gguf";
  for (const char* version : {"\"v1\"", "\"v2\"", ""}) {
    auto part = PartFile::Open(path);
    ASSERT_TRUE(part.has_value() && (*part)->Restart("\"v1\"").has_value());
    ASSERT_TRUE((*part)->Append(BytesOf(MadeContent(20'000, 7))).has_value());
    hub_.AddPlain("/m.gguf", q4_, version);
    const auto got = FromUrl("https://web.test/m.gguf", path);
    ASSERT_TRUE(got.has_value()) << got.error().message;
    const bool same = std::string(version) == "\"v1\"";
    EXPECT_EQ(ContentOf(path), same ? MadeContent(20'000, 7) : q4_) << version;
    std::filesystem::remove(path);
  }
}

TEST_F(ModelDownloadTest, AnOlderFileStaysUntilTheNewerOneIsWhole) {
  const std::string path = folder_ + "/mine.gguf";
  const std::string url =
      "https://hub.test/made/model/resolve/" + hub_.CommitOf("made/model") + "/m-Q4_K_M.gguf";
  std::ofstream(path) << "GGUF, an older one";
  hub_.SetFault([](const HubAsked& asked, HubAnswer* answer) {
    if (asked.method == "GET" && answer->body.size() == 20'000) answer->body[7] ^= 1;
  });
  ExpectFails(FromUrl(url, path), ErrorCode::kCorrupt, "the second time too");
  EXPECT_EQ(ContentOf(path), "GGUF, an older one");
  hub_.SetFault(nullptr);
  ASSERT_TRUE(FromUrl(url, path).has_value());
  EXPECT_EQ(ContentOf(path), q4_);
}

TEST_F(ModelDownloadTest, WhoeverWaitsForAnotherVersionDownloadsItsOwn) {
  hub_.AddPlain("/m.gguf", q4_, "\"v2\"");
  const std::string path = folder_ + "/mine.gguf";
  auto lock = DownloadLock::Try(path + ".lock");
  ASSERT_TRUE(lock.has_value() && *lock != nullptr);
  hooks_.sleep = [&](double) {
    std::ofstream(path) << MadeContent(500, 8);
    std::ofstream(path + ".etag") << "\"v1\"\n";
    lock->reset();
  };
  ASSERT_TRUE(FromUrl("https://web.test/m.gguf", path).has_value());
  EXPECT_EQ(ContentOf(path), q4_);
  EXPECT_EQ(NotedEtag(path), "\"v2\"");
}

TEST_F(ModelDownloadTest, TwoUrlsWithOneFileNameAreTwoFiles) {
  hub_.AddPlain("/x/m.gguf", q4_, "\"v1\"");
  hub_.AddPlain("/y/m.gguf", MadeContent(100, 5), "\"v1\"");
  EXPECT_EQ(ContentOf(*FromUrl("https://web.test/x/m.gguf")), q4_);
  EXPECT_EQ(ContentOf(*FromUrl("https://web.test/y/m.gguf")), MadeContent(100, 5));
}

TEST_F(ModelDownloadTest, AUrlOfASplitModelBringsAllParts) {
  hub_.AddPlain("/x/m-00001-of-00002.gguf", q4_, "\"1\"");
  hub_.AddPlain("/x/m-00002-of-00002.gguf", MadeContent(100, 5), "\"2\"");
  const auto path = FromUrl("https://web.test/x/m-00001-of-00002.gguf");
  ASSERT_TRUE(path.has_value()) << path.error().message;
  EXPECT_EQ(ContentOf(PartName(*ParseGgufName(*path), 2)), MadeContent(100, 5));
  ExpectFails(FromUrl("https://web.test/x/m-00002-of-00002.gguf"), ErrorCode::kInvalidArgument,
              "name the first part, m-00001-of-00002.gguf");
}

TEST_F(ModelDownloadTest, AUrlOfTheHubIsCheckedByTheSumThatItsRedirectNames) {
  const std::string url =
      "https://hub.test/made/model/resolve/" + hub_.CommitOf("made/model") + "/m-Q4_K_M.gguf";
  hub_.SetFault([flips = 1](const HubAsked& asked, HubAnswer* answer) mutable {
    if (asked.method == "GET" && answer->body.size() == 20'000 && flips-- > 0) {
      answer->body[7] ^= 1;
    }
  });
  const auto path = FromUrl(url, folder_ + "/mine.gguf");
  ASSERT_TRUE(path.has_value()) << path.error().message;
  EXPECT_EQ(*path, folder_ + "/mine.gguf");
  EXPECT_EQ(ContentOf(*path), q4_);
  EXPECT_TRUE(Said("is not the one that the server states")) << said_;
}

TEST_F(ModelDownloadTest, AServerThatRefusesHeadIsAskedByGet) {
  hub_.AddPlain("/m.gguf", q4_, "");
  hub_.SetFault([](const HubAsked& asked, HubAnswer* answer) {
    if (asked.method == "HEAD") answer->status = 405;
  });
  EXPECT_EQ(ContentOf(*FromUrl("https://web.test/m.gguf")), q4_);
  ExpectFails(FromUrl("https://web.test/none.gguf"), ErrorCode::kUnauthorized, "401");
}

TEST_F(ModelDownloadTest, AFileWithoutAChecksumIsRefused) {
  hub_.SetFault([](const HubAsked& asked, HubAnswer* answer) {
    if (asked.target.find("/tree/") == std::string::npos) return;
    answer->body = R"([{"type": "file", "path": "m.gguf", "size": 9}])";
  });
  ExpectFails(FromHub("made/model"), ErrorCode::kCorrupt, "states no checksum of m.gguf");
}

TEST_F(ModelDownloadTest, NamesThatLeadNowhereAreRefused) {
  ExpectFails(FromHub("made"), ErrorCode::kInvalidArgument, "is not of the form USER/REPO");
  ExpectFails(FromUrl("https://web.test/"), ErrorCode::kInvalidArgument, ".gguf file");
  ExpectFails(FromUrl("m.gguf"), ErrorCode::kInvalidArgument, "is not a URL");
  settings_.hub_folder.clear();
  ExpectFails(FromHub("made/model"), ErrorCode::kInvalidArgument, "set HOME");
}

}  // namespace
}  // namespace cairn
