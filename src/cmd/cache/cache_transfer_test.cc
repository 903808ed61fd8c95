// cairn cache export and import.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/json.h"
#include "testing/cmd/cache_fixture.h"

namespace cairn {
namespace {

using test::CacheCommandTest;
using test::Said;

constexpr const char* kFile = "/talk.cairns";
constexpr const char* kOther = "/other/cache";

class CacheTransfer : public CacheCommandTest {
 protected:
  Said Export(const ObjectHeader& header) {
    CacheCommandOptions options = Command(CacheCommand::kExport, NameText(header));
    options.file = kFile;
    return Run(options);
  }
  Said Import() {
    CacheCommandOptions options = Command(CacheCommand::kImport);
    options.file = kFile;
    options.folder = kOther;
    return Run(options);
  }
  // The names of the files below a folder, without it.
  std::set<std::string> FilesBelow(const std::string& folder) const {
    std::set<std::string> files;
    for (const std::string& path : fs_.Files()) {
      if (path.starts_with(folder + "/")) files.insert(path.substr(folder.size()));
    }
    return files;
  }
  std::set<std::string> FilesOf(const std::vector<ObjectHeader>& headers) const {
    std::set<std::string> files;
    for (const ObjectHeader& header : headers) {
      files.insert(PathOf(header).substr(std::string(test::kFolder).size()));
    }
    return files;
  }
  Bytes ReadAll(const std::string& path) { return *fs_.Read(path, 0, UINT64_MAX); }
};

TEST_F(CacheTransfer, BringsAllThatACheckpointNeedsToAnotherFolder) {
  const Conversation made = PutConversation();
  PutConversation();
  const Said exported = Export(made.snapshots[1]);
  EXPECT_EQ(exported.code, 0) << exported.error;
  EXPECT_EQ(exported.out.find(std::string(kFile) + ": 4 objects, "), 0u) << exported.out;
  const Said imported = Import();
  EXPECT_EQ(imported.code, 0) << imported.error;
  EXPECT_EQ(imported.out.find("4 objects imported, "), 0u) << imported.out;
  EXPECT_EQ(FilesBelow(kOther),
            FilesOf({made.segments[0], made.segments[1], made.snapshots[0], made.snapshots[1]}));
  for (const std::string& file : FilesBelow(kOther)) {
    EXPECT_EQ(ReadAll(kOther + file), ReadAll(test::kFolder + file)) << file;
  }
  CacheCommandOptions verify = Command(CacheCommand::kVerify);
  verify.folder = kOther;
  EXPECT_EQ(Run(verify).code, 0);
}

TEST_F(CacheTransfer, LeavesWhatIsThereAlready) {
  const Conversation made = PutConversation();
  ASSERT_EQ(Export(made.snapshots[2]).code, 0);
  ASSERT_EQ(Import().code, 0);
  const uint64_t created = fs_.calls(FsCall::kCreate);
  const Said again = Import();
  EXPECT_EQ(again.out, "0 objects imported, 0 B; 6 already present\n");
  EXPECT_EQ(fs_.calls(FsCall::kCreate), created);
}

TEST_F(CacheTransfer, SaysWhenThePathIsNotWhole) {
  const Conversation made = PutConversation();
  ASSERT_TRUE(fs_.Remove(PathOf(made.segments[0])).has_value());
  const Said said = Export(made.snapshots[2]);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(Contains(said.error, "the path is incomplete: segment ")) << said.error;
}

TEST_F(CacheTransfer, TakesAWholeWithTheSnapshotsOnIt) {
  ObjectHeader whole = Snapshot(SomeTokens(1000), 1000, 0);
  whole.kind = ObjectKind::kFullState;
  whole.clean = 1000;
  Put(whole, 30'000);
  const ObjectHeader snapshot = Put(Snapshot(whole.tokens, 640), 500);
  Put(Snapshot(SomeTokens(640), 640), 500);
  EXPECT_EQ(Export(whole).code, 0);
  EXPECT_EQ(Import().code, 0);
  EXPECT_EQ(FilesBelow(kOther), FilesOf({whole, snapshot}));
}

TEST_F(CacheTransfer, TakesTheRowsOfAMediumAlone) {
  ObjectHeader rows = Snapshot(SomeTokens(8), 8, 0);
  rows.kind = ObjectKind::kMediaRows;
  Put(rows, 30'000);
  Put(Snapshot(rows.tokens, 8), 500);
  EXPECT_EQ(Export(rows).code, 0);
  EXPECT_EQ(Import().code, 0);
  EXPECT_EQ(FilesBelow(kOther), FilesOf({rows}));
}

TEST_F(CacheTransfer, ExportsNothingThatIsBad) {
  const Conversation made = PutConversation();
  const std::string path = PathOf(made.segments[0]);
  fs_.FlipBit(path, 8 * fs_.Stat(path)->bytes - 1);
  const Said said = Export(made.snapshots[2]);
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(Contains(said.error, path)) << said.error;
  EXPECT_EQ(fs_.Stat(kFile).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(FilesBelow(test::kFolder).size(), 6u);
}

TEST_F(CacheTransfer, LeavesNoFileWhenTheDiskIsFull) {
  const Conversation made = PutConversation();
  for (const FsCall call : {FsCall::kCreate, FsCall::kAppend, FsCall::kSync, FsCall::kRename}) {
    fs_.Fail(call, 1, ErrorCode::kNoSpace);
    const Said said = Export(made.snapshots[2]);
    EXPECT_EQ(said.code, 1);
    EXPECT_EQ(said.error.find("cairn cache export: \"/talk.cairns"), 0u) << said.error;
    EXPECT_EQ(fs_.Files().size(), 6u);
    fs_.ClearFaults();
  }
}

// Cut anywhere, or with any bit flipped, it brings in nothing that is bad.
TEST_F(CacheTransfer, FindsEveryDefectOfAnExportedFile) {
  const Conversation made = PutConversation();
  ASSERT_EQ(Export(made.snapshots[0]).code, 0);
  const Bytes good = ReadAll(kFile);
  CacheCommandOptions verify = Command(CacheCommand::kVerify);
  verify.folder = kOther;
  for (int i = 0; i < 300; ++i) {
    Bytes bytes = good;
    if (i % 3 == 0) {
      bytes.resize(random_() % bytes.size());
    } else if (i % 3 == 1) {
      bytes[random_() % bytes.size()] ^= static_cast<uint8_t>(1U << (random_() % 8));
    } else {
      bytes.resize(bytes.size() + 1 + random_() % 100, 3);
    }
    fs_.Put(kFile, bytes);
    const Said said = Import();
    EXPECT_EQ(said.code, 1) << i;
    EXPECT_TRUE(Contains(said.error, kFile)) << said.error;
    if (!FilesBelow(kOther).empty()) {
      EXPECT_EQ(Run(verify).code, 0);
    }
    fs_.RemoveFolder(kOther);
  }
}

TEST_F(CacheTransfer, TellsForeignFilesFromThoseOfOtherVersions) {
  const std::string foreign = "PK zip";
  const std::string newer = "cairn export 2\nxxxxxxxx";
  const auto put = [&](const std::string& text) {
    fs_.Put(kFile, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  put(foreign);
  EXPECT_TRUE(Contains(Import().error, "is no file that cairn exported or saved"));
  put(newer);
  EXPECT_TRUE(Contains(Import().error, "another version of cairn"));
  ASSERT_TRUE(fs_.Remove(kFile).has_value());
  EXPECT_TRUE(Contains(Import().error, kFile));
}

TEST_F(CacheTransfer, SaysForProgramsWhatItDid) {
  const Conversation made = PutConversation();
  CacheCommandOptions options = Command(CacheCommand::kExport, NameText(made.snapshots[0]));
  options.file = kFile;
  const auto exported = RunJson(options);
  EXPECT_EQ(exported["path_whole"], true);
  EXPECT_EQ(exported["bytes"], fs_.Stat(kFile)->bytes);
  EXPECT_EQ(exported["objects"],
            Json::array({NameText(made.segments[0]), NameText(made.snapshots[0])}));
  options.command = CacheCommand::kImport;
  options.folder = kOther;
  const auto imported = RunJson(options);
  EXPECT_EQ(imported["imported"], 2);
  EXPECT_EQ(imported["there_already"], 0);
}

// The same on the machine's files, as a user has it.
TEST_F(CacheTransfer, WorksOnRealFiles) {
  const Conversation made = PutConversation();
  const std::string root = testing::TempDir() + "cairn_cache_transfer_" + std::to_string(getpid());
  const auto real = MakeRealFs();
  for (const std::string& path : fs_.Files()) {
    const std::string to = root + path;
    ASSERT_TRUE(real->MakeFolders(to.substr(0, to.find_last_of('/'))).has_value());
    auto writer = real->Create(to);
    ASSERT_TRUE((*writer)->Append(ReadAll(path)).has_value());
    ASSERT_TRUE((*writer)->Close().has_value());
  }
  CacheCommandOptions options = Command(CacheCommand::kExport, NameText(made.snapshots[2]));
  options.folder = root + test::kFolder;
  options.file = root + kFile;
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunCache(options), 0);
  options.command = CacheCommand::kImport;
  options.folder = root + kOther;
  EXPECT_EQ(RunCache(options), 0);
  options.command = CacheCommand::kVerify;
  EXPECT_EQ(RunCache(options), 0);
  options.command = CacheCommand::kRemove;
  options.names.clear();
  options.all = true;
  EXPECT_EQ(RunCache(options), 0);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(Contains(out, "6 objects imported")) << out;
  EXPECT_TRUE(Contains(out, "removed 6 files")) << out;
  // The model's empty folder is gone too.
  EXPECT_EQ(real->List(root + kOther)->size(), 1u);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace cairn
