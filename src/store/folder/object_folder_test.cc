#include "store/folder/object_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "store/folder/identity.h"
#include "testing/store/object_fixture.h"

namespace cairn {
namespace {

class ObjectFolderPaths : public test::ObjectFolderTest {
 protected:
  FolderContents Scan() {
    auto contents = folder_.Scan({});
    EXPECT_TRUE(contents.has_value());
    return *std::move(contents);
  }
  static const FoundObject& Found(const FolderContents& contents, const ObjectHeader& header) {
    const FoundObject* const found = contents.Find(ToText(header.fingerprint), NameOf(header));
    EXPECT_NE(found, nullptr);
    return *found;
  }
  static std::vector<std::string> Names(const std::vector<const FoundObject*>& objects) {
    std::vector<std::string> names;
    for (const FoundObject* const object : objects) names.push_back(ToText(object->name));
    return names;
  }
  static std::vector<std::string> Names(const std::vector<ObjectHeader>& headers) {
    std::vector<std::string> names;
    for (const ObjectHeader& header : headers) names.push_back(NameText(header));
    return names;
  }
  ObjectPath PathTo(const FolderContents& contents, const ObjectHeader& header) {
    const auto path = folder_.FindPath(contents, Found(contents, header));
    EXPECT_TRUE(path.has_value());
    return *path;
  }
  std::vector<std::string> SnapshotsOn(const FolderContents& contents, const ObjectHeader& header) {
    const FoundObject& object = Found(contents, header);
    const auto snapshots = folder_.SnapshotsOn(contents, object, PathTo(contents, header));
    EXPECT_TRUE(snapshots.has_value());
    return Names(*snapshots);
  }

  ObjectFolder folder_{&fs_, test::kFolder};
};

TEST_F(ObjectFolderPaths, FindsEveryObjectOfEveryModel) {
  const Conversation first = PutConversation();
  fingerprint_ = {7, 8};
  const Conversation second = PutConversation();
  const FolderContents contents = Scan();
  EXPECT_EQ(contents.objects.size(), 12u);
  EXPECT_EQ(contents.models.size(), 2u);
  EXPECT_TRUE(contents.bad.empty());
  for (const Conversation* made : {&first, &second}) {
    for (const ObjectHeader& header : made->snapshots) {
      const FoundObject& found = Found(contents, header);
      EXPECT_EQ(found.end, header.tokens.size());
      EXPECT_TRUE(found.header.tokens.empty());
      EXPECT_TRUE(folder_.Verify(found).has_value());
    }
  }
}

TEST_F(ObjectFolderPaths, SaysHowFarItsScanIs) {
  PutConversation();
  fingerprint_ = {7, 8};
  PutConversation();
  std::vector<float> shares;
  ASSERT_TRUE(folder_.Scan([&](float share) { shares.push_back(share); }).has_value());
  EXPECT_EQ(shares.size(), 12u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_FLOAT_EQ(shares.front(), 1.0F / 12);
  EXPECT_FLOAT_EQ(shares.back(), 1);
}

TEST_F(ObjectFolderPaths, LeadsFromTheBeginningToASnapshot) {
  const Conversation made = PutConversation();
  const FolderContents contents = Scan();
  const auto segments = Names(made.segments);
  const std::vector<size_t> counts = {1, 2, 3};
  for (size_t i = 0; i < counts.size(); ++i) {
    const ObjectPath path = PathTo(contents, made.snapshots[i]);
    EXPECT_TRUE(path.whole) << path.gap;
    const auto end = segments.begin() + static_cast<std::ptrdiff_t>(counts[i]);
    EXPECT_EQ(Names(path.segments), std::vector<std::string>(segments.begin(), end));
  }
}

TEST_F(ObjectFolderPaths, FindsTheSnapshotsAlongIt) {
  const Conversation made = PutConversation();
  PutConversation();
  const FolderContents contents = Scan();
  const auto snapshots = Names(made.snapshots);
  EXPECT_EQ(SnapshotsOn(contents, made.snapshots[2]), snapshots);
  EXPECT_EQ(SnapshotsOn(contents, made.segments[0]),
            std::vector<std::string>(snapshots.begin(), snapshots.begin() + 1));
}

// Two conversations with a common prefix; the second begins in the middle of the first's segment.
TEST_F(ObjectFolderPaths, TellsForksApartByTheirTokens) {
  const Conversation made = PutConversation();
  Tokens other = made.tokens;
  for (size_t i = 600; i < other.size(); ++i) other[i] += 1;
  const ObjectHeader segment = Put(Segment(other, 600, 1400, &made.segments[0]), 5000);
  const ObjectHeader snapshot = Put(Snapshot(other, 1400), 5000);
  const ObjectHeader shared = Put(Snapshot(other, 599), 5000);
  const FolderContents contents = Scan();
  const ObjectPath path = PathTo(contents, snapshot);
  EXPECT_TRUE(path.whole);
  EXPECT_EQ(Names(path.segments), Names({made.segments[0], segment}));
  // Both share the prefix's snapshots; the later snapshots of the first are not the second's.
  EXPECT_EQ(SnapshotsOn(contents, snapshot), Names({made.snapshots[0], shared, snapshot}));
  EXPECT_EQ(SnapshotsOn(contents, made.snapshots[2]),
            Names({made.snapshots[0], shared, made.snapshots[1], made.snapshots[2]}));
}

TEST_F(ObjectFolderPaths, KeepsRunsAndClientsApart) {
  const Conversation made = PutConversation();
  ObjectHeader in_run = Segment(made.tokens, 1024, 3000, made.segments.data());
  in_run.lineage = 77;
  Put(in_run, 5000);
  ObjectHeader of_run = Snapshot(made.tokens, 2048);
  of_run.lineage = 77;
  Put(of_run, 5000);
  ObjectHeader others = Snapshot(made.tokens, 512);
  others.name_space = 5;
  Put(others, 5000);
  const FolderContents contents = Scan();
  EXPECT_EQ(Names(PathTo(contents, of_run).segments), Names({made.segments[0], in_run}));
  EXPECT_EQ(SnapshotsOn(contents, of_run), Names({made.snapshots[0], of_run}));
  EXPECT_EQ(SnapshotsOn(contents, made.snapshots[2]), Names(made.snapshots));
  EXPECT_FALSE(PathTo(contents, others).whole);
}

TEST_F(ObjectFolderPaths, SaysWhereAPathHasAGap) {
  const Conversation made = PutConversation();
  ASSERT_TRUE(fs_.Remove(PathOf(made.segments[1])).has_value());
  const FolderContents contents = Scan();
  EXPECT_TRUE(PathTo(contents, made.snapshots[0]).whole);
  const ObjectPath path = PathTo(contents, made.snapshots[2]);
  EXPECT_FALSE(path.whole);
  EXPECT_NE(path.gap.find(NameText(made.segments[1])), std::string::npos) << path.gap;
  EXPECT_EQ(Names(path.segments), Names({made.segments[2]}));
  EXPECT_FALSE(PathTo(contents, made.snapshots[1]).whole);
}

TEST_F(ObjectFolderPaths, NeedsNoPathForAWhole) {
  ObjectHeader whole = Snapshot(SomeTokens(1000), 1000);
  whole.kind = ObjectKind::kFullState;
  whole.checkpoint_class = 0;
  whole.clean = 640;
  whole.runs = {{9, 640}};
  Put(whole, 30'000);
  ObjectHeader clean = Put(Snapshot(whole.tokens, 640), 500);
  ObjectHeader in_run = Snapshot(whole.tokens, 1000);
  in_run.lineage = 9;
  Put(in_run, 500);
  // The tokens of the run, prefilled on the grid by another client: different bits.
  Put(Snapshot(whole.tokens, 960), 500);
  const FolderContents contents = Scan();
  EXPECT_TRUE(PathTo(contents, whole).whole);
  EXPECT_EQ(SnapshotsOn(contents, whole), Names({clean, in_run}));
}

TEST_F(ObjectFolderPaths, SaysWhatIsNoneOfOursAndMarksOnlyBadObjectsForRemoval) {
  const Conversation made = PutConversation();
  const std::string model = std::string(test::kFolder) + "/" + ToText(fingerprint_) + "/";
  const std::string text = "hello";
  const ByteSpan hello(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  fs_.Put("/cache/notes.txt", hello);
  fs_.Put(model + "photo.jpg", hello);
  fs_.Put(model + std::string(32, 'a') + ".cairn", hello);
  fs_.Put(model + "tmp-123", hello);
  fs_.Put("/cache/lock", {});
  const std::string newer = PathOf(made.snapshots[0]);
  MakeNewer(newer);
  const FolderContents contents = Scan();
  EXPECT_EQ(contents.objects.size(), 5u);
  ASSERT_EQ(contents.unfinished.size(), 1u);
  EXPECT_EQ(contents.unfinished[0].path, model + "tmp-123");
  std::set<std::string> removable;
  std::set<std::string> kept;
  for (const FoundFile& file : contents.bad) {
    EXPECT_EQ(file.why.find("\"" + file.path + "\": "), 0u) << file.why;
    (file.removable ? removable : kept).insert(file.path);
  }
  EXPECT_EQ(removable, std::set<std::string>{model + std::string(32, 'a') + ".cairn"});
  EXPECT_EQ(kept, (std::set<std::string>{"/cache/notes.txt", model + "photo.jpg"}));
  ASSERT_EQ(contents.newer.size(), 1u);
  EXPECT_EQ(contents.newer[0].path, newer);
  EXPECT_FALSE(contents.newer[0].removable);
  EXPECT_EQ(contents.newer[0].why, "\"" + newer +
                                       "\": written by a newer cairn (format 2), this one reads "
                                       "format 1");
}

TEST_F(ObjectFolderPaths, TakesAFileThatGoesAwayForGone) {
  const Conversation made = PutConversation();
  auto server = fs_.AnotherProcess();
  const std::string path = PathOf(made.snapshots[0]);
  fs_.OnCall([&](FsCall call, const std::string& of) {
    if (call == FsCall::kRead && of == path) static_cast<void>(server->Remove(path));
  });
  const FolderContents contents = Scan();
  EXPECT_EQ(contents.objects.size(), 5u);
  EXPECT_TRUE(contents.bad.empty());
}

TEST_F(ObjectFolderPaths, NamesAFileThatCannotBeReadAndLeavesIt) {
  const Conversation made = PutConversation();
  fs_.Fail(FsCall::kRead, 1, ErrorCode::kInternal);
  const FolderContents contents = Scan();
  EXPECT_EQ(contents.objects.size(), 5u);
  ASSERT_EQ(contents.bad.size(), 1u);
  EXPECT_FALSE(contents.bad[0].removable);
}

TEST_F(ObjectFolderPaths, HasNoContentsWithoutAFolder) {
  const auto contents = folder_.Scan({});
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().code, ErrorCode::kNotFound);
}

TEST_F(ObjectFolderPaths, KnowsWhatModelsCallThemselves) {
  ASSERT_TRUE(WriteIdentity(&fs_, test::kFolder, "description=a model\n").has_value());
  const FolderContents contents = Scan();
  EXPECT_TRUE(contents.bad.empty());
  EXPECT_EQ(contents.identities.at(ToText(FingerprintOf("description=a model\n"))),
            "description=a model\n");
}

TEST_F(ObjectFolderPaths, WritesWhatIsNotThereAndLeavesWhatIs) {
  const ObjectHeader header = Snapshot(SomeTokens(100), 100);
  const Bytes file = FileOf(header, Codec::kLossless, Payload(3000));
  const auto checked = CheckObject(file);
  ASSERT_TRUE(checked.has_value()) << checked.error().message;
  EXPECT_TRUE(*folder_.WriteFile(*checked, file));
  EXPECT_FALSE(*folder_.WriteFile(*checked, file));
  const FolderContents contents = Scan();
  EXPECT_EQ(*folder_.ReadFile(Found(contents, header)), file);
  EXPECT_EQ(fs_.unsynced_bytes(), 0u);
}

TEST_F(ObjectFolderPaths, LeavesNothingBehindWhenAFileCannotBeWritten) {
  const ObjectHeader header = Snapshot(SomeTokens(100), 100);
  const Bytes file = FileOf(header, Codec::kRaw, Payload(3000));
  const ObjectHeader checked = *CheckObject(file);
  for (const FsCall call :
       {FsCall::kCreate, FsCall::kAppend, FsCall::kSync, FsCall::kClose, FsCall::kRename}) {
    fs_.Fail(call, 1, ErrorCode::kNoSpace);
    const auto written = folder_.WriteFile(checked, file);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
    EXPECT_TRUE(fs_.Files().empty());
    fs_.ClearFaults();
  }
}

TEST_F(ObjectFolderPaths, RefusesBytesThatAreNoWholeObject) {
  const Bytes file = FileOf(Snapshot(SomeTokens(100), 100), Codec::kRaw, Payload(3000));
  for (const size_t size : {size_t{0}, size_t{100}, size_t{4096}, file.size() - 1}) {
    EXPECT_FALSE(CheckObject(ByteSpan(file).first(size)).has_value()) << size;
  }
  Bytes longer = file;
  longer.push_back(0);
  EXPECT_FALSE(CheckObject(longer).has_value());
}

}  // namespace
}  // namespace cairn
