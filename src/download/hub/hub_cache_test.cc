#include "download/hub/hub_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/download/download_fixture.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

class HubCacheTest : public DownloadTest {
 protected:
  // Puts a file there as huggingface_hub does.
  void Put(const std::string& commit, const std::string& path, const std::string& content) {
    const std::string repo = folder_ + "/models--a--b";
    const std::string blob = repo + "/blobs/" + Sha256Of(content);
    const std::string name = repo + "/snapshots/" + commit + "/" + path;
    fs::create_directories(fs::path(blob).parent_path());
    fs::create_directories(fs::path(name).parent_path());
    std::ofstream(blob) << content;
    fs::create_symlink(fs::relative(blob, fs::path(name).parent_path()), name);
  }
  const HubCache cache_{folder_};
};

TEST_F(HubCacheTest, LinksAreRelativeAndLeadToTheBlob) {
  const HubFile file{"dir/m.gguf", 5, {Sha256Of("GGUF1")}};
  const std::string blob = cache_.BlobPath("a/b", "c0", file);
  EXPECT_EQ(blob, folder_ + "/models--a--b/blobs/" + file.sum.digits);
  fs::create_directories(fs::path(blob).parent_path());
  std::ofstream(blob) << "GGUF1";
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(cache_.Link("a/b", "c0", file).has_value());
    const std::string name = cache_.SnapshotPath("a/b", "c0", "dir/m.gguf");
    EXPECT_EQ(fs::read_symlink(name), "../../../blobs/" + file.sum.digits);
    EXPECT_EQ(ContentOf(name), "GGUF1");
  }
}

TEST_F(HubCacheTest, FindsWhatOtherProgramsPutThereTheNewestCommitFirst) {
  Put("c1", "m.gguf", "GGUF1");
  Put("c2", "d/n.gguf", "GGUF2");
  Put("c2", "a.gguf", "GGUF3");
  ASSERT_TRUE(cache_.WriteRef("a/b", "c1").has_value());
  auto snapshots = cache_.List("a/b");
  ASSERT_EQ(snapshots.size(), 2u);
  EXPECT_EQ(snapshots[0].commit, "c1");
  EXPECT_EQ(snapshots[0].files[0].sum.digits, Sha256Of("GGUF1"));
  ASSERT_TRUE(cache_.WriteRef("a/b", "c2").has_value());
  snapshots = cache_.List("a/b");
  EXPECT_EQ(snapshots[0].commit, "c2");
  EXPECT_EQ(snapshots[0].files[0].path, "a.gguf");
  EXPECT_EQ(snapshots[0].files[1].path, "d/n.gguf");
  EXPECT_TRUE(cache_.List("x/y").empty());
}

TEST_F(HubCacheTest, ListsItsRepositories) {
  EXPECT_TRUE(cache_.Repos().empty());
  Put("c1", "m.gguf", "GGUF1");
  fs::create_directories(folder_ + "/models--me--my--model");
  fs::create_directories(folder_ + "/datasets--x--y");
  EXPECT_EQ(cache_.Repos(), (std::vector<std::string>{"a/b", "me/my--model"}));
}

TEST_F(HubCacheTest, ALinkWithoutItsBlobIsNotThere) {
  Put("c1", "m.gguf", "GGUF1");
  fs::remove(folder_ + "/models--a--b/blobs/" + Sha256Of("GGUF1"));
  EXPECT_TRUE(cache_.List("a/b")[0].files.empty());
}

}  // namespace
}  // namespace cairn
