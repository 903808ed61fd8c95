#include "testing/base/memory_fs.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <thread>

namespace cairn::memory_fs_test {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
// Number of crashes in the tests below; enough for every outcome to occur.
constexpr uint64_t kCrashes = 500;

Bytes BytesOf(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

std::string Read(const Fs& fs, const std::string& path) {
  const auto bytes = fs.Read(path, 0, kAll);
  if (!bytes) return bytes.error().code == ErrorCode::kNotFound ? "(none)" : "(refused)";
  return std::string(bytes->begin(), bytes->end());
}

std::unique_ptr<FileWriter> Create(MemoryFs* fs, const std::string& path, const std::string& text) {
  auto file = fs->Create(path);
  EXPECT_TRUE(file.has_value());
  EXPECT_TRUE((*file)->Append(BytesOf(text)));
  return *std::move(file);
}

// Writes a file that is on the device with its name.
void WriteForGood(MemoryFs* fs, const std::string& path, const std::string& text) {
  const auto file = Create(fs, path, text);
  EXPECT_TRUE(file->Sync());
  EXPECT_TRUE(fs->SyncFolder(path.substr(0, path.find_last_of('/'))));
}

std::unique_ptr<MemoryFs> NewFs() {
  auto fs = std::make_unique<MemoryFs>();
  EXPECT_TRUE(fs->MakeFolders("/d"));
  return fs;
}

// Returns the contents of a file after a crash, with their frequencies over many seeds.
std::map<std::string, size_t> AfterCrash(const std::function<void(MemoryFs*)>& play,
                                         const std::string& path) {
  std::map<std::string, size_t> seen;
  for (uint64_t seed = 0; seed < kCrashes; ++seed) {
    const auto fs = NewFs();
    play(fs.get());
    ++seen[Read(*fs->Crash(seed), path)];
  }
  return seen;
}

TEST(MemoryFs, KeepsThroughACrashWhatWasSynced) {
  for (uint64_t seed = 0; seed < kCrashes; ++seed) {
    const auto fs = NewFs();
    WriteForGood(fs.get(), "/d/a", "text");
    ASSERT_TRUE(fs->Rename("/d/a", "/d/b"));
    ASSERT_TRUE(fs->SyncFolder("/d"));
    EXPECT_EQ(fs->unsynced_bytes(), 0u);
    const auto after = fs->Crash(seed);
    EXPECT_EQ(after->Files(), (std::vector<std::string>{"/d/b"})) << "seed " << seed;
    EXPECT_EQ(Read(*after, "/d/b"), "text") << "seed " << seed;
    EXPECT_EQ(after->bytes(), 4u);
  }
}

TEST(MemoryFs, LosesOrTearsBytesThatWereNotSynced) {
  const auto seen = AfterCrash(
      [](MemoryFs* fs) {
        WriteForGood(fs, "/d/other", "x");
        const auto file = Create(fs, "/d/a", "good");
        ASSERT_TRUE(fs->SyncFolder("/d"));
        ASSERT_TRUE(file->Sync());
        ASSERT_TRUE(file->Append(BytesOf("bad")));
        ASSERT_TRUE(file->Close());
        EXPECT_EQ(fs->unsynced_bytes(), 3u);
      },
      "/d/a");
  EXPECT_FALSE(seen.contains("(none)"));
  for (const std::string& fate : {std::string("good"), std::string("goodb"), std::string("goodba"),
                                  std::string("goodbad"), std::string("good\0\0\0", 7)}) {
    EXPECT_TRUE(seen.contains(fate)) << "never " << fate;
  }
  size_t garbage = 0;
  for (const auto& [text, times] : seen) {
    EXPECT_TRUE(text.starts_with("good")) << "what was synced stays";
    EXPECT_LE(text.size(), 7u);
    if (text.size() == 7 && text != "goodbad") garbage += times;
  }
  EXPECT_GT(garbage, 0u);
}

TEST(MemoryFs, MayForgetOrKeepNamesThatWereNotSynced) {
  const auto created =
      AfterCrash([](MemoryFs* fs) { ASSERT_TRUE(Create(fs, "/d/a", "new")->Sync()); }, "/d/a");
  EXPECT_EQ(created.size(), 2u);
  EXPECT_TRUE(created.contains("new") && created.contains("(none)"));

  const auto replaced = AfterCrash(
      [](MemoryFs* fs) {
        WriteForGood(fs, "/d/a", "old");
        WriteForGood(fs, "/d/tmp", "new");
        ASSERT_TRUE(fs->Rename("/d/tmp", "/d/a"));
      },
      "/d/a");
  EXPECT_EQ(replaced.size(), 2u);
  EXPECT_TRUE(replaced.contains("new") && replaced.contains("old")) << "never neither";

  const auto removed = AfterCrash(
      [](MemoryFs* fs) {
        WriteForGood(fs, "/d/a", "old");
        ASSERT_TRUE(fs->Remove("/d/a"));
      },
      "/d/a");
  EXPECT_EQ(removed.size(), 2u);
  EXPECT_TRUE(removed.contains("old") && removed.contains("(none)"));
}

TEST(MemoryFs, LosesContentsBehindANameThatSurvivesWhenOnlyTheNameWasSynced) {
  const auto seen = AfterCrash(
      [](MemoryFs* fs) {
        Create(fs, "/d/tmp", "text");
        ASSERT_TRUE(fs->Rename("/d/tmp", "/d/a"));
        ASSERT_TRUE(fs->SyncFolder("/d"));
      },
      "/d/a");
  EXPECT_TRUE(seen.contains("")) << "the empty file of whoever forgets to sync before a rename";
  EXPECT_TRUE(seen.contains("text"));
  EXPECT_FALSE(seen.contains("(none)"));
}

TEST(MemoryFs, TurnsNamesOutOfOrderToo) {
  std::set<std::pair<bool, bool>> seen;
  for (uint64_t seed = 0; seed < kCrashes; ++seed) {
    const auto fs = NewFs();
    WriteForGood(fs.get(), "/d/a", "x");
    WriteForGood(fs.get(), "/d/b", "x");
    ASSERT_TRUE(fs->Remove("/d/a"));
    ASSERT_TRUE(fs->Remove("/d/b"));
    const auto after = fs->Crash(seed);
    seen.insert({after->Stat("/d/a").has_value(), after->Stat("/d/b").has_value()});
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(MemoryFs, MayKeepTheOldNameBesideTheNewOneOfARenameAcrossFolders) {
  std::set<std::vector<std::string>> seen;
  for (uint64_t seed = 0; seed < kCrashes; ++seed) {
    const auto fs = NewFs();
    ASSERT_TRUE(fs->MakeFolders("/e"));
    WriteForGood(fs.get(), "/d/a", "x");
    ASSERT_TRUE(fs->Rename("/d/a", "/e/a"));
    ASSERT_TRUE(fs->SyncFolder("/e"));
    const auto after = fs->Crash(seed);
    EXPECT_EQ(after->bytes(), 1u) << "under two names it is one file";
    seen.insert(after->Files());
  }
  EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"/d/a", "/e/a"}, {"/e/a"}}));
}

TEST(MemoryFs, MayForgetATimeThatWasSetLast) {
  std::set<int64_t> seen;
  for (uint64_t seed = 0; seed < kCrashes; ++seed) {
    const auto fs = NewFs();
    fs->SetNow(100);
    WriteForGood(fs.get(), "/d/a", "x");
    ASSERT_TRUE(fs->SetTime("/d/a", 200));
    const auto after = fs->Crash(seed);
    seen.insert(after->Stat("/d/a")->time_ns);
    EXPECT_EQ(after->now_ns(), 100);
  }
  EXPECT_EQ(seen, (std::set<int64_t>{100, 200}));
}

TEST(MemoryFs, CrashesAlikeForASeed) {
  const auto play = [](uint64_t seed) {
    const auto fs = NewFs();
    for (const char* path : {"/d/a", "/d/b", "/d/c"}) Create(fs.get(), path, "some text");
    const auto after = fs->Crash(seed);
    std::string all;
    for (const std::string& path : after->Files()) all += path + "=" + Read(*after, path) + ";";
    return all;
  };
  std::set<std::string> different;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(play(seed), play(seed));
    different.insert(play(seed));
  }
  EXPECT_GT(different.size(), 10u);
}

TEST(MemoryFs, EndsEveryProcessInACrash) {
  const auto fs = NewFs();
  const auto other = fs->AnotherProcess();
  const auto file = Create(fs.get(), "/d/a", "x");
  const auto lock = other->TryLock("/d/lock");
  ASSERT_TRUE(lock.has_value());
  const auto after = fs->Crash(1);
  for (const auto& dead : {fs.get(), other.get()}) {
    EXPECT_EQ(dead->List("/d").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(dead->MakeFolders("/e").error().code, ErrorCode::kUnavailable);
  }
  EXPECT_FALSE(file->Append(BytesOf("y")));
  EXPECT_FALSE(file->Sync());
  EXPECT_TRUE(after->TryLock("/d/lock").has_value());
  EXPECT_FALSE(after->Stat("/e").has_value());
}

TEST(MemoryFs, LetsAKilledProcessLoseItsLocksButNoBytes) {
  const auto fs = NewFs();
  const auto other = fs->AnotherProcess();
  const auto file = Create(fs.get(), "/d/a", "text");
  const auto lock = fs->TryLock("/d/lock");
  EXPECT_EQ(other->TryLock("/d/lock").error().code, ErrorCode::kUnavailable);
  fs->Kill();
  EXPECT_EQ(fs->Remove("/d/a").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(file->Append(BytesOf("more")));
  EXPECT_EQ(Read(*other, "/d/a"), "text");
  EXPECT_TRUE(other->TryLock("/d/lock").has_value());
}

TEST(MemoryFs, KillsAProcessInTheMidstOfACall) {
  const auto fs = NewFs();
  const auto other = fs->AnotherProcess();
  const auto lock = fs->TryLock("/d/lock");
  fs->KillAt(2);
  const auto file = fs->Create("/d/a");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ((*file)->Append(BytesOf("text")).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Read(*other, "/d/a"), "te") << "half of it was written";
  EXPECT_FALSE(fs->Stat("/d/a").has_value());
  EXPECT_TRUE(other->TryLock("/d/lock").has_value());
}

TEST(MemoryFs, FailsTheCallThatWasNamed) {
  const auto fs = NewFs();
  WriteForGood(fs.get(), "/d/a", "text");
  fs->Fail(2, ErrorCode::kInternal);
  fs->Fail(FsCall::kRename, 2, ErrorCode::kNoSpace);
  EXPECT_TRUE(fs->Stat("/d/a"));
  const auto refused = fs->Stat("/d/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
  EXPECT_EQ(refused.error().message, "\"/d/a\": Input/output error");
  EXPECT_TRUE(fs->Stat("/d/a"));
  EXPECT_TRUE(fs->Rename("/d/a", "/d/b"));
  EXPECT_EQ(fs->Rename("/d/b", "/d/c").error().message, "\"/d/b\": No space left on device");
  EXPECT_EQ(fs->Files(), (std::vector<std::string>{"/d/b"})) << "a refused rename did nothing";
  EXPECT_TRUE(fs->Rename("/d/b", "/d/c"));
}

TEST(MemoryFs, FailsEveryCallUntilFaultsAreCleared) {
  const auto fs = NewFs();
  const auto other = fs->AnotherProcess();
  fs->FailAll(FsCall::kCreate, ErrorCode::kUnavailable);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(fs->Create("/d/a"));
  EXPECT_TRUE(fs->List("/d"));
  EXPECT_TRUE(other->Create("/d/a")) << "another's faults are its own";
  fs->FailAll(ErrorCode::kNotFound);
  EXPECT_EQ(fs->List("/d").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(fs->SpaceOf("/d").error().code, ErrorCode::kNotFound);
  fs->ClearFaults();
  EXPECT_TRUE(fs->Create("/d/a"));
}

TEST(MemoryFs, NeverWritesWhatARefusedSyncShouldHave) {
  const auto seen = AfterCrash(
      [](MemoryFs* fs) {
        const auto file = Create(fs, "/d/a", "text");
        ASSERT_TRUE(fs->SyncFolder("/d"));
        fs->Fail(FsCall::kSync, 1, ErrorCode::kInternal);
        ASSERT_FALSE(file->Sync());
        ASSERT_TRUE(file->Sync()) << "as Linux does";
      },
      "/d/a");
  EXPECT_TRUE(seen.contains(""));
}

TEST(MemoryFs, RunsFullAtTheByte) {
  const auto fs = NewFs();
  fs->SetCapacity(10);
  const auto file = Create(fs.get(), "/d/a", "1234567");
  EXPECT_EQ(fs->SpaceOf("/d")->free_bytes, 3u);
  EXPECT_EQ(file->Append(BytesOf("8901")).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(Read(*fs, "/d/a"), "1234567890") << "what fits is written";
  EXPECT_EQ(fs->SpaceOf("/d")->free_bytes, 0u);
  ASSERT_TRUE(fs->Remove("/d/a"));
  EXPECT_EQ(fs->SpaceOf("/d")->free_bytes, 10u);
  ASSERT_TRUE(file->Append(BytesOf("x"))) << "a file without a name goes on";
  EXPECT_EQ(fs->bytes(), 0u);
  fs->SetCapacity(0);
  EXPECT_EQ(fs->SpaceOf("/d")->free_bytes, 0u);
}

TEST(MemoryFs, CountsAFileThatIsReplacedNoMore) {
  const auto fs = NewFs();
  WriteForGood(fs.get(), "/d/a", "1234");
  WriteForGood(fs.get(), "/d/b", "12");
  EXPECT_EQ(fs->bytes(), 6u);
  ASSERT_TRUE(fs->Rename("/d/b", "/d/a"));
  EXPECT_EQ(fs->bytes(), 2u);
  ASSERT_TRUE(fs->Create("/d/a"));
  EXPECT_EQ(fs->bytes(), 0u);
}

TEST(MemoryFs, ChangesNothingWhileReadOnly) {
  const auto fs = NewFs();
  WriteForGood(fs.get(), "/d/a", "text");
  const auto file = Create(fs.get(), "/d/b", "text");
  fs->SetReadOnly(true);
  for (const Status& status :
       {fs->MakeFolders("/e"), fs->Rename("/d/a", "/d/c"), fs->Remove("/d/a"),
        fs->SetTime("/d/a", 1), file->Append(BytesOf("x"))}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(status.error().message.ends_with(": Read-only file system"));
  }
  EXPECT_FALSE(fs->Create("/d/c"));
  EXPECT_FALSE(fs->TryLock("/d/lock"));
  EXPECT_TRUE(fs->MakeFolders("/d")) << "it is there";
  EXPECT_EQ(Read(*fs, "/d/a"), "text");
  EXPECT_EQ(fs->Files(), (std::vector<std::string>{"/d/a", "/d/b"}));
  fs->SetReadOnly(false);
  EXPECT_TRUE(fs->Remove("/d/a"));
}

TEST(MemoryFs, DamagesFilesWhenTold) {
  const auto fs = NewFs();
  fs->Put("/e/f/a", BytesOf("text"));
  EXPECT_EQ(fs->calls(), 1u) << "only NewFs called";
  fs->FlipBit("/e/f/a", 8);
  EXPECT_EQ(Read(*fs, "/e/f/a"), "tdxt");
  fs->Truncate("/e/f/a", 2);
  EXPECT_EQ(Read(*fs, "/e/f/a"), "td");
  EXPECT_EQ(fs->bytes(), 2u);
  EXPECT_EQ(fs->unsynced_bytes(), 0u);
  EXPECT_EQ(Read(*fs->Crash(1), "/e/f/a"), "td");
}

TEST(MemoryFs, LosesAFolderWithAllInIt) {
  const auto fs = NewFs();
  fs->Put("/d/a", BytesOf("text"));
  fs->Put("/d/e/a", BytesOf("text"));
  fs->Put("/dd/a", BytesOf("text"));
  fs->RemoveFolder("/d");
  fs->RemoveFolder("/none");
  EXPECT_EQ(fs->Files(), (std::vector<std::string>{"/dd/a"}));
  EXPECT_EQ(fs->bytes(), 4u);
  EXPECT_EQ(fs->Create("/d/a").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(fs->MakeFolders("/d"));
  EXPECT_TRUE(fs->Create("/d/a"));
}

TEST(MemoryFs, CountsCallsOfEachProcess) {
  const auto fs = NewFs();
  const auto other = fs->AnotherProcess();
  WriteForGood(fs.get(), "/d/a", "text");
  EXPECT_TRUE(other->Stat("/d/a"));
  EXPECT_EQ(fs->calls(), 5u) << "folders, create, append, sync, folder's sync";
  EXPECT_EQ(fs->calls(FsCall::kAppend), 1u);
  EXPECT_EQ(fs->calls(FsCall::kStat), 0u);
  EXPECT_EQ(other->calls(), 1u);
}

TEST(MemoryFs, LetsATestActBetweenTwoCalls) {
  const auto fs = NewFs();
  const auto other = fs->AnotherProcess();
  fs->Put("/d/a", BytesOf("text"));
  fs->OnCall([&](FsCall call, const std::string& path) {
    if (call != FsCall::kRead) return;
    EXPECT_TRUE(other->Remove(path));
  });
  EXPECT_TRUE(fs->Stat("/d/a"));
  EXPECT_EQ(Read(*fs, "/d/a"), "(none)");
}

TEST(MemoryFs, StampsChangesWithTheTimeThatItIsGiven) {
  const auto fs = NewFs();
  fs->SetNow(1000);
  const auto file = Create(fs.get(), "/d/a", "x");
  EXPECT_EQ(fs->Stat("/d/a")->time_ns, 1000);
  fs->SetNow(2000);
  EXPECT_EQ(fs->Stat("/d/a")->time_ns, 1000);
  ASSERT_TRUE(file->Append(BytesOf("y")));
  EXPECT_EQ(fs->Stat("/d/a")->time_ns, 2000);
}

TEST(MemoryFs, MayBeUsedByManyThreadsWhilePowerIsLost) {
  const auto fs = NewFs();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([process = fs->AnotherProcess(), i] {
      const std::string path = "/d/" + std::to_string(i);
      while (true) {
        auto file = process->Create(path);
        if (!file || !(*file)->Append(BytesOf("text")) || !(*file)->Sync()) return;
        if (!process->Rename(path, path + "-done") || !process->SyncFolder("/d")) return;
      }
    });
  }
  while (fs->Files().size() < 2) std::this_thread::yield();
  const auto after = fs->Crash(7);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& path : after->Files()) EXPECT_LE(after->Stat(path)->bytes, 4u);
}

}  // namespace
}  // namespace cairn::memory_fs_test
