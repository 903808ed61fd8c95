// Runs the same tests on the machine's file system and on the one in memory that other tests use,
// so that the latter behaves like the former.

#include "base/fs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <limits>

#include "testing/base/memory_fs.h"

namespace cairn::fs_test {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

Bytes BytesOf(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

std::string TextOf(const Result<Bytes>& bytes) {
  if (!bytes) return "error: " + bytes.error().message;
  return std::string(bytes->begin(), bytes->end());
}

Status WriteFile(Fs* fs, const std::string& path, const std::string& text) {
  auto file = fs->Create(path);
  if (!file) return tl::unexpected(file.error());
  if (Status appended = (*file)->Append(BytesOf(text)); !appended) return appended;
  if (Status synced = (*file)->Sync(); !synced) return synced;
  return (*file)->Close();
}

class FsTest : public testing::TestWithParam<std::string> {
 protected:
  FsTest() {
    if (GetParam() == "real") {
      fs_ = MakeRealFs();
      folder_ = testing::TempDir() + "cairn_fs_test_" + std::to_string(getpid());
    } else {
      fs_ = std::make_unique<MemoryFs>();
      folder_ = "/home/cache";
    }
    EXPECT_TRUE(fs_->MakeFolders(folder_));
  }
  ~FsTest() override {
    std::error_code ignored;
    if (GetParam() == "real") std::filesystem::remove_all(folder_, ignored);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    const Status written = WriteFile(fs_.get(), Path(name), text);
    EXPECT_TRUE(written) << written.error().message;
  }
  std::string Read(const std::string& name) const { return TextOf(fs_->Read(Path(name), 0, kAll)); }
  std::vector<std::string> List(const std::string& folder) const {
    auto names = fs_->List(folder);
    EXPECT_TRUE(names.has_value());
    if (!names) return {};
    std::sort(names->begin(), names->end());
    return *names;
  }
  // Returns an error as "<code>, <the system's text>"; fails unless the path precedes the text.
  template <typename T>
  static std::string Refusal(const Result<T>& result, const std::string& path) {
    if (result) return "nothing";
    const std::string begin = "\"" + path + "\": ";
    EXPECT_TRUE(result.error().message.starts_with(begin)) << result.error().message;
    const char* code = "other";
    if (result.error().code == ErrorCode::kNotFound) code = "kNotFound";
    if (result.error().code == ErrorCode::kUnavailable) code = "kUnavailable";
    if (result.error().code == ErrorCode::kInternal) code = "kInternal";
    return code + (", " + result.error().message.substr(begin.size()));
  }

  std::unique_ptr<Fs> fs_;
  std::string folder_;
};

INSTANTIATE_TEST_SUITE_P(Both, FsTest, testing::Values("real", "memory"),
                         [](const auto& test) { return test.param; });

constexpr const char* kMissing = "kNotFound, No such file or directory";

TEST_P(FsTest, GivesBackWhatWasAppended) {
  auto file = fs_->Create(Path("a"));
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->Append(BytesOf("one ")));
  ASSERT_TRUE((*file)->Append({}));
  ASSERT_TRUE((*file)->Append(BytesOf("two")));
  EXPECT_EQ(Read("a"), "one two") << "others see it before it is closed";
  ASSERT_TRUE((*file)->Sync());
  ASSERT_TRUE((*file)->Close());
  EXPECT_EQ(Read("a"), "one two");
  EXPECT_EQ(fs_->Stat(Path("a"))->bytes, 7u);
}

TEST_P(FsTest, GivesBackLargeFilesToTheByte) {
  std::string text(3 << 20, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 7);
  Write("a", text);
  EXPECT_TRUE(Read("a") == text);
}

TEST_P(FsTest, ReadsFewerBytesWhereTheFileEndsBefore) {
  Write("a", "0123456789");
  const auto read = [&](uint64_t offset, uint64_t size) {
    return TextOf(fs_->Read(Path("a"), offset, size));
  };
  EXPECT_EQ(read(3, 4), "3456");
  EXPECT_EQ(read(8, 4), "89");
  EXPECT_EQ(read(10, 4), "");
  EXPECT_EQ(read(kAll, kAll), "");
  EXPECT_EQ(read(1, kAll), "123456789");
  EXPECT_EQ(read(2, 0), "");
}

TEST_P(FsTest, CreatesInPlaceOfAFileOfThatName) {
  Write("a", "a long text");
  Write("a", "short");
  EXPECT_EQ(Read("a"), "short");
}

TEST_P(FsTest, ListsFilesAndFoldersButNotWhatIsInThem) {
  EXPECT_EQ(List(folder_), (std::vector<std::string>{}));
  ASSERT_TRUE(fs_->MakeFolders(Path("inner/most")));
  Write("b", "");
  Write("a", "x");
  Write("inner/c", "x");
  EXPECT_EQ(List(folder_), (std::vector<std::string>{"a", "b", "inner"}));
  EXPECT_EQ(List(Path("inner")), (std::vector<std::string>{"c", "most"}));
}

TEST_P(FsTest, RenamesInPlaceOfWhatIsThere) {
  ASSERT_TRUE(fs_->MakeFolders(Path("inner")));
  Write("tmp", "new");
  Write("inner/a", "old");
  ASSERT_TRUE(fs_->Rename(Path("tmp"), Path("inner/a")));
  EXPECT_EQ(Read("inner/a"), "new");
  EXPECT_EQ(List(folder_), (std::vector<std::string>{"inner"}));
  ASSERT_TRUE(fs_->Rename(Path("inner/a"), Path("inner/a")));
  EXPECT_EQ(Read("inner/a"), "new");
  EXPECT_TRUE(fs_->SyncFolder(Path("inner")));
}

TEST_P(FsTest, RemovesFilesAndEmptyFolders) {
  ASSERT_TRUE(fs_->MakeFolders(Path("inner/most")));
  Write("inner/a", "x");
  EXPECT_EQ(Refusal(fs_->Remove(Path("inner")), Path("inner")), "kInternal, Directory not empty");
  ASSERT_TRUE(fs_->Remove(Path("inner/a")));
  EXPECT_EQ(Refusal(fs_->Remove(Path("inner")), Path("inner")), "kInternal, Directory not empty");
  ASSERT_TRUE(fs_->Remove(Path("inner/most")));
  ASSERT_TRUE(fs_->Remove(Path("inner")));
  EXPECT_EQ(List(folder_), (std::vector<std::string>{}));
}

TEST_P(FsTest, SaysWhatIsMissingByItsPath) {
  const std::string a = Path("a");
  const std::string deep = Path("none/a");
  EXPECT_EQ(Refusal(fs_->List(a), a), kMissing);
  EXPECT_EQ(Refusal(fs_->Stat(a), a), kMissing);
  EXPECT_EQ(Refusal(fs_->Create(deep), deep), kMissing);
  EXPECT_EQ(Refusal(fs_->Read(a, 0, 1), a), kMissing);
  EXPECT_EQ(Refusal(fs_->Rename(a, Path("b")), a), kMissing);
  EXPECT_EQ(Refusal(fs_->Remove(a), a), kMissing);
  EXPECT_EQ(Refusal(fs_->SetTime(a, 0), a), kMissing);
  EXPECT_EQ(Refusal(fs_->SyncFolder(a), a), kMissing);
  EXPECT_EQ(Refusal(fs_->SpaceOf(a), a), kMissing);
  EXPECT_EQ(Refusal(fs_->TryLock(deep), deep), kMissing);
  Write("a", "x");
  EXPECT_EQ(Refusal(fs_->Rename(a, deep), a), kMissing);
  EXPECT_EQ(Read("a"), "x");
}

TEST_P(FsTest, TakesNoFileForAFolderAndNoFolderForAFile) {
  Write("a", "x");
  ASSERT_TRUE(fs_->MakeFolders(Path("inner")));
  EXPECT_EQ(fs_->List(Path("a")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fs_->Stat(Path("a/b")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fs_->Create(Path("a/b")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fs_->MakeFolders(Path("a")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fs_->MakeFolders(Path("a/b")).error().code, ErrorCode::kNotFound);
  const std::string folder = Path("inner");
  EXPECT_EQ(Refusal(fs_->Create(folder), folder), "kInternal, Is a directory");
  EXPECT_EQ(Refusal(fs_->Read(folder, 0, 1), folder), "kInternal, Is a directory");
  EXPECT_EQ(Refusal(fs_->Rename(Path("a"), folder), Path("a")), "kInternal, Is a directory");
  EXPECT_EQ(Read("a"), "x");
}

TEST_P(FsTest, MakesAllFoldersOnTheWayAndIsContentWithThoseThere) {
  EXPECT_TRUE(fs_->MakeFolders(Path("a/b/c")));
  EXPECT_TRUE(fs_->MakeFolders(Path("a/b/c/")));
  EXPECT_TRUE(fs_->MakeFolders(Path("a//b")));
  EXPECT_TRUE(fs_->MakeFolders("/"));
  Write("a/b/c/d", "x");
  EXPECT_EQ(List(Path("a/b")), (std::vector<std::string>{"c"}));
  EXPECT_EQ(Read("a/b/c/d"), "x");
}

TEST_P(FsTest, KeepsATimeToTheNanosecondInThePastAndInTheFuture) {
  Write("a", "x");
  // The last one is in 2033, as the times of some file systems end in 2038.
  for (const int64_t time_ns : {int64_t{1'700'000'000'123'456'789}, int64_t{1}, int64_t{-1},
                                int64_t{-1'500'000'001}, int64_t{2'000'000'000'000'000'001}}) {
    ASSERT_TRUE(fs_->SetTime(Path("a"), time_ns));
    EXPECT_EQ(fs_->Stat(Path("a"))->time_ns, time_ns);
  }
  ASSERT_TRUE(fs_->Rename(Path("a"), Path("b")));
  EXPECT_EQ(fs_->Stat(Path("b"))->time_ns, 2'000'000'000'000'000'001);
  EXPECT_EQ(Read("b"), "x");
}

TEST_P(FsTest, LocksOnceUntilTheLockIsGivenUp) {
  auto first = fs_->TryLock(Path("lock"));
  ASSERT_TRUE(first.has_value());
  const std::string held = "kUnavailable, Resource temporarily unavailable";
  EXPECT_EQ(Refusal(fs_->TryLock(Path("lock")), Path("lock")), held);
  EXPECT_TRUE(fs_->TryLock(Path("other")).has_value());
  EXPECT_EQ(List(folder_), (std::vector<std::string>{"lock", "other"}));
  first->reset();
  EXPECT_TRUE(fs_->TryLock(Path("lock")).has_value());
  EXPECT_TRUE(fs_->TryLock(Path("lock")).has_value()) << "the one before lived for a line";
}

TEST_P(FsTest, KnowsWhatTheDeviceHasLeft) {
  const auto space = fs_->SpaceOf(folder_);
  ASSERT_TRUE(space.has_value());
  EXPECT_GT(space->free_bytes, 0u);
  EXPECT_LE(space->free_bytes, space->size_bytes);
}

TEST_P(FsTest, LeavesAFileThatIsDroppedUnclosedToItsFate) {
  {
    auto file = fs_->Create(Path("a"));
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE((*file)->Append(BytesOf("text")));
  }
  EXPECT_EQ(Read("a"), "text") << "no power was lost";
}

class RealFsTest : public testing::Test {
 protected:
  RealFsTest() : folder_(testing::TempDir() + "cairn_real_fs_test_" + std::to_string(getpid())) {
    EXPECT_TRUE(fs_->MakeFolders(folder_ + "/inner"));
  }
  ~RealFsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static mode_t Mode(const std::string& path) {
    struct stat found = {};
    EXPECT_EQ(stat(path.c_str(), &found), 0);
    return found.st_mode & 07777U;
  }

  const std::unique_ptr<Fs> fs_ = MakeRealFs();
  const std::string folder_;
};

TEST_F(RealFsTest, KeepsFilesAndFoldersForTheOwnerAlone) {
  const mode_t mask = umask(0);
  ASSERT_TRUE(fs_->MakeFolders(folder_ + "/one/two"));
  ASSERT_TRUE(WriteFile(fs_.get(), folder_ + "/a", "x"));
  ASSERT_TRUE(fs_->TryLock(folder_ + "/lock").has_value());
  umask(mask);
  EXPECT_EQ(Mode(folder_ + "/one"), 0700u);
  EXPECT_EQ(Mode(folder_ + "/one/two"), 0700u);
  EXPECT_EQ(Mode(folder_ + "/a"), 0600u);
  EXPECT_EQ(Mode(folder_ + "/lock"), 0600u);
}

TEST_F(RealFsTest, TellsAFullDeviceFromOtherRefusals) {
  if (!fs_->Stat("/dev/full")) GTEST_SKIP() << "this machine has no /dev/full";
  auto file = fs_->Create("/dev/full");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const Status written = (*file)->Append(BytesOf("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(written.error().message, "\"/dev/full\": No space left on device");
}

TEST_F(RealFsTest, IsRefusedWhereItMayNotWrite) {
  ASSERT_EQ(chmod((folder_ + "/inner").c_str(), 0500), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Root is never refused, so the child process changes its user.
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
    const auto file = fs_->Create(folder_ + "/inner/a");
    const bool refused = !file && file.error().code == ErrorCode::kUnavailable &&
                         file.error().message == "\"" + folder_ + "/inner/a\": Permission denied";
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this root may not become anybody else";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RealFsTest, GetsTheLockOfAProcessThatWasKilled) {
  const std::string path = folder_ + "/lock";
  std::array<int, 2> ready = {};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = fs_->TryLock(path);
    const char said = lock ? 'y' : 'n';
    (void)!write(ready[1], &said, 1);
    while (true) pause();
  }
  char said = 0;
  EXPECT_EQ(read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  const auto held = fs_->TryLock(path);
  EXPECT_TRUE(!held && held.error().code == ErrorCode::kUnavailable);
  EXPECT_EQ(kill(child, SIGKILL), 0);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(fs_->TryLock(path).has_value());
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace cairn::fs_test
