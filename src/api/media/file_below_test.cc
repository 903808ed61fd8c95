#include "api/media/file_below.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cairn::file_below_test {
namespace {

namespace fs = std::filesystem;

class FileBelowTest : public testing::Test {
 protected:
  FileBelowTest() {
    fs::remove_all(base_);
    fs::create_directories(root_ / "sub");
    fs::create_directories(base_ / "root-not");
    Write(root_ / "a.png", "inside");
    Write(root_ / "sub" / "b.png", "deeper");
    Write(base_ / "secret", "outside");
    Write(base_ / "root-not" / "c.png", "beside");
  }
  ~FileBelowTest() override { fs::remove_all(base_); }

  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  std::string Read(const std::string& path, size_t bytes_max = 100) const {
    const auto bytes = ReadFileBelow(root_, path, bytes_max);
    return bytes ? std::string(bytes->begin(), bytes->end()) : "! " + bytes.error().message;
  }

  const fs::path base_ =
      fs::path(testing::TempDir()) / ("cairn_" + std::to_string(getpid()) + "_below");
  const fs::path root_ = base_ / "root";
  const std::string missing_ = "! there is no such file below the folder of --media-path";
};

TEST_F(FileBelowTest, ReadsFilesByRelativeAndAbsolutePaths) {
  EXPECT_EQ(Read("a.png"), "inside");
  EXPECT_EQ(Read("./sub/../a.png"), "inside");
  EXPECT_EQ(Read("sub/b.png"), "deeper");
  EXPECT_EQ(Read(root_ / "sub" / "b.png"), "deeper");
}

TEST_F(FileBelowTest, LooksForAnAbsolutePathInTheFolderToo) {
  EXPECT_EQ(Read("/a.png"), "inside");
  EXPECT_EQ(Read("//sub//b.png"), "deeper");
  EXPECT_EQ(Read("//../secret"), missing_);
  EXPECT_EQ(Read("/"), missing_);
}

TEST_F(FileBelowTest, NoPathLeadsOutOfTheFolder) {
  EXPECT_EQ(Read("../secret"), missing_);
  EXPECT_EQ(Read("sub/../../secret"), missing_);
  EXPECT_EQ(Read(base_ / "secret"), missing_);
  EXPECT_EQ(Read("/etc/passwd"), missing_);
  EXPECT_EQ(Read("../root-not/c.png"), missing_) << "a name that begins like the folder's";
  EXPECT_EQ(Read("../no-such-file"), missing_) << "the answer does not tell what there is outside";
}

TEST_F(FileBelowTest, LinksAreFollowedInsideTheFolderOnly) {
  fs::create_symlink("sub/b.png", root_ / "inner");
  fs::create_symlink(base_ / "secret", root_ / "outer");
  fs::create_directory_symlink(base_, root_ / "folder");
  fs::create_symlink("loop", root_ / "loop");
  EXPECT_EQ(Read("inner"), "deeper");
  EXPECT_EQ(Read("outer"), missing_);
  EXPECT_EQ(Read("folder/secret"), missing_);
  EXPECT_EQ(Read("loop"), missing_);
}

TEST_F(FileBelowTest, TheFolderMayBeALinkItself) {
  fs::create_directory_symlink(root_, base_ / "link");
  const auto bytes = ReadFileBelow(base_ / "link", "a.png", 100);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->size(), 6u);
}

TEST_F(FileBelowTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
  for (const char* path : {"", ".", "sub", "pipe", "no-such-file", "a.png/x"}) {
    EXPECT_EQ(Read(path), missing_) << path;
  }
  EXPECT_EQ(Read(std::string("a.png\0x", 7)), missing_);
}

TEST_F(FileBelowTest, AFileOverTheLimitIsNotRead) {
  EXPECT_EQ(Read("a.png", 6), "inside");
  const auto bytes = ReadFileBelow(root_, "a.png", 5);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().code, ErrorCode::kTooLong);
  EXPECT_EQ(bytes.error().message, "the file has 6 bytes");
}

}  // namespace
}  // namespace cairn::file_below_test
