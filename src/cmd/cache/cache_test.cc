// cairn cache: the command line, and ls, show, prune, rm and wipe.

#include "cmd/cache/cache.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cmd/lib/cache_folder.h"
#include "store/folder/identity.h"
#include "testing/cmd/cache_fixture.h"

namespace cairn {
namespace {

using test::CacheCommandTest;
using test::Said;

// What the command line `arguments` after "cairn" means. Throws CLI11's errors.
CacheCommandOptions Parse(const std::string& arguments) {
  CacheCommandOptions options;
  CLI::App app;
  const CLI::App* cache = AddCache(&app, &options);
  app.parse(arguments);
  EXPECT_TRUE(cache->parsed());
  return options;
}

TEST(CacheFlags, NameTheCommandAndTheFolder) {
  EXPECT_EQ(Parse("cache ls").folder, DefaultCacheFolder());
  EXPECT_EQ(Parse("cache ls --cache-dir /x --json").folder, "/x");
  EXPECT_TRUE(Parse("cache verify --json").json);
  EXPECT_EQ(Parse("cache ls").command, CacheCommand::kList);
  EXPECT_EQ(Parse("cache verify").command, CacheCommand::kVerify);
  EXPECT_EQ(Parse("cache show 12ab").command, CacheCommand::kShow);
  const CacheCommandOptions prune = Parse("cache prune --to 1.5 --older-than 30 --bad --dry-run");
  EXPECT_EQ(prune.command, CacheCommand::kPrune);
  EXPECT_DOUBLE_EQ(prune.to_gib, 1.5);
  EXPECT_DOUBLE_EQ(prune.older_than_days, 30);
  EXPECT_TRUE(prune.bad);
  EXPECT_TRUE(prune.dry_run);
  const CacheCommandOptions remove = Parse("cache rm 12 34 --model 5 --all");
  EXPECT_EQ(remove.command, CacheCommand::kRemove);
  EXPECT_EQ(remove.names, (std::vector<std::string>{"12", "34"}));
  EXPECT_EQ(remove.model, "5");
  EXPECT_TRUE(remove.all);
  const CacheCommandOptions exported = Parse("cache export talk.cairns 12ab");
  EXPECT_EQ(exported.command, CacheCommand::kExport);
  EXPECT_EQ(exported.file, "talk.cairns");
  EXPECT_EQ(exported.names, std::vector<std::string>{"12ab"});
  EXPECT_EQ(Parse("cache import talk.cairns").command, CacheCommand::kImport);
  const CacheCommandOptions wipe = Parse("cache wipe --namespace none --cache-key-file key");
  EXPECT_EQ(wipe.command, CacheCommand::kWipe);
  EXPECT_EQ(wipe.name_space, "none");
  EXPECT_EQ(wipe.key_file, "key");
}

TEST(CacheFlags, RefuseWhatMakesNoSense) {
  for (const char* arguments :
       {"cache", "cache show", "cache show a b", "cache prune --to -1", "cache prune --to much",
        "cache export file", "cache import", "cache wipe", "cache ls extra", "cache nosuch"}) {
    EXPECT_THROW(Parse(arguments), CLI::ParseError) << arguments;
  }
}

TEST_F(CacheCommandTest, WithoutAFolderSaysWhatToDo) {
  for (const CacheCommand command :
       {CacheCommand::kList, CacheCommand::kVerify, CacheCommand::kShow}) {
    const Said said = Run(command, "12");
    EXPECT_EQ(said.code, 1);
    EXPECT_EQ(said.out, "");
    EXPECT_TRUE(Contains(said.error, "there is no folder \"/cache\"")) << said.error;
    EXPECT_TRUE(Contains(said.error, "--cache-dir")) << said.error;
    EXPECT_EQ(said.error.find('\n'), said.error.size() - 1);
  }
  CacheCommandOptions prune = Command(CacheCommand::kPrune);
  prune.bad = true;
  EXPECT_EQ(Run(prune).code, 1);
  EXPECT_TRUE(fs_.Files().empty());
  CacheCommandOptions nowhere = Command(CacheCommand::kList);
  nowhere.folder = "";
  EXPECT_TRUE(Contains(Run(nowhere).error, "cairn cache ls: neither XDG_CACHE_HOME nor HOME"));
}

TEST_F(CacheCommandTest, ListsTheLatestUsedFirst) {
  const Conversation made = PutConversation();
  const Said said = Run(CacheCommand::kList);
  EXPECT_EQ(said.code, 0);
  std::vector<std::string> lines;
  for (size_t at = 0; at < said.out.size();) {
    const size_t end = said.out.find('\n', at);
    lines.push_back(said.out.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 10u) << said.out;
  EXPECT_TRUE(Contains(lines[0], "NAME      MODEL     KIND      CLASS   TOKENS")) << lines[0];
  const auto row = [&](size_t i, const ObjectHeader& header, const std::string& rest) {
    EXPECT_EQ(lines[i].find(NameText(header).substr(0, 8) + "  11112222  "), 0u) << lines[i];
    EXPECT_TRUE(Contains(lines[i], rest)) << lines[i];
  };
  row(1, made.snapshots[2], "snapshot  end     3000       20.8 KiB  60 min  raw");
  row(2, made.snapshots[1], "snapshot  prompt  2048");
  row(3, made.snapshots[0], "snapshot  header  512");
  row(4, made.segments[2], "segment   -       2048-3000");
  row(5, made.segments[1], "segment   -       1024-2048");
  row(6, made.segments[0], "segment   -       0-1024");
  EXPECT_EQ(lines[7], "");
  EXPECT_EQ(lines[8].find("6 objects, "), 0u) << lines[8];
  EXPECT_TRUE(Contains(lines[8], "3 segments ")) << lines[8];
  EXPECT_TRUE(Contains(lines[8], "3 snapshots ")) << lines[8];
  EXPECT_EQ(lines[9].find("model 11112222: 6 objects, "), 0u) << lines[9];
}

TEST_F(CacheCommandTest, ListsAnEmptyFolderAsNothing) {
  ASSERT_TRUE(fs_.MakeFolders(test::kFolder).has_value());
  EXPECT_EQ(Run(CacheCommand::kList).out, "0 objects, 0 B\n");
}

TEST_F(CacheCommandTest, ListsOneModelAndSaysWhatItCallsItself) {
  PutConversation();
  const std::string identity = "model=12\ndescription=qwen35 4B Q8_0\n";
  ASSERT_TRUE(WriteIdentity(&fs_, test::kFolder, identity).has_value());
  fingerprint_ = FingerprintOf(identity);
  PutConversation();
  CacheCommandOptions options = Command(CacheCommand::kList);
  EXPECT_EQ(RunJson(options)["objects"].size(), 12u);
  options.model = ToText(fingerprint_).substr(0, 6);
  const auto json = RunJson(options);
  EXPECT_EQ(json["objects"].size(), 6u);
  ASSERT_EQ(json["models"].size(), 1u);
  EXPECT_EQ(json["models"][0]["description"], "qwen35 4B Q8_0");
  EXPECT_EQ(json["models"][0]["model"], ToText(fingerprint_));
  EXPECT_TRUE(Contains(Run(options).out, " qwen35 4B Q8_0: 6 objects"));
  options.model = "zz";
  EXPECT_TRUE(Contains(Run(options).error, "no model's fingerprint begins with 'zz'"));
  options.model = "";
  fs_.FlipBit(PathOf(Put(Snapshot(SomeTokens(10), 10), 100)), 500);
  EXPECT_TRUE(Contains(Run(options).out, "1 file more cannot be used"));
  EXPECT_EQ(RunJson(options)["unusable_files"], 1);
  EXPECT_FALSE(Contains(Run(options).out, "newer version"));
  MakeNewer(PathOf(Put(Snapshot(SomeTokens(10), 10), 100)));
  EXPECT_TRUE(Contains(Run(options).out,
                       "1 object more of a newer version of cairn, or sealed with another key"));
  EXPECT_EQ(RunJson(options)["newer_format_files"], 1);
  EXPECT_EQ(RunJson(options)["unusable_files"], 1);
}

TEST_F(CacheCommandTest, ListsForPrograms) {
  const Conversation made = PutConversation();
  const auto json = RunJson(CacheCommand::kList);
  EXPECT_EQ(json["cache_dir"], "/cache");
  EXPECT_EQ(json["total_objects"], 6);
  EXPECT_EQ(json["total_bytes"], fs_.bytes());
  const auto& newest = json["objects"][0];
  EXPECT_EQ(newest["name"], NameText(made.snapshots[2]));
  EXPECT_EQ(newest["model"], ToText(fingerprint_));
  EXPECT_EQ(newest["kind"], "snapshot");
  EXPECT_EQ(newest["class"], "end");
  EXPECT_EQ(newest["begin"], 0);
  EXPECT_EQ(newest["end"], 3000);
  EXPECT_EQ(newest["raw_bytes"], 9000);
  EXPECT_EQ(newest["codec"], "raw");
  EXPECT_EQ(newest["age_s"], 3600);
  EXPECT_EQ(json["objects"][1]["codec"], "lossless");
}

TEST_F(CacheCommandTest, ShowsAnObjectAndItsPath) {
  const Conversation made = PutConversation();
  const Said said = Run(CacheCommand::kShow, NameText(made.snapshots[2]).substr(0, 10));
  EXPECT_EQ(said.code, 0) << said.error;
  for (const std::string& line :
       {"name             " + NameText(made.snapshots[2]) + "\n",
        "model            " + ToText(fingerprint_) + "\n",
        std::string("kind             snapshot\n"), std::string("class            end\n"),
        std::string("tokens           3000\n"),
        std::string("path             complete, 3 segments\n"),
        std::string("logits           64 B\n"), std::string("snapshots on it  3\n"),
        NameText(made.segments[0]) + "  0-1024", NameText(made.snapshots[0]) + "  512  header\n",
        "file             " + PathOf(made.snapshots[2]) + "\n"}) {
    EXPECT_TRUE(Contains(said.out, line)) << line << "in\n" << said.out;
  }
  ASSERT_TRUE(fs_.Remove(PathOf(made.segments[0])).has_value());
  const Said gap = Run(CacheCommand::kShow, NameText(made.snapshots[2]));
  EXPECT_TRUE(Contains(gap.out, "path             incomplete: segment ")) << gap.out;
}

TEST_F(CacheCommandTest, ShowsForPrograms) {
  const Conversation made = PutConversation();
  CacheCommandOptions options = Command(CacheCommand::kShow, NameText(made.segments[1]));
  const auto segment = RunJson(options);
  EXPECT_EQ(segment["kind"], "segment");
  EXPECT_EQ(segment["parent"], NameText(made.segments[0]));
  EXPECT_EQ(segment["path_whole"], true);
  EXPECT_EQ(segment["path"].size(), 2u);
  EXPECT_EQ(segment["snapshots"].size(), 2u);
  EXPECT_EQ(segment["codec"], "lossless");
  options.names = {NameText(made.segments[0])};
  EXPECT_TRUE(RunJson(options)["parent"].is_null());
  ObjectHeader whole = Snapshot(SomeTokens(1000), 1000);
  whole.kind = ObjectKind::kFullState;
  whole.checkpoint_class = 0;
  whole.clean = 640;
  whole.runs = {{9, 640}};
  whole.answers = {{700, 800}};
  options.names = {NameText(Put(whole, 3000))};
  const auto json = RunJson(options);
  EXPECT_EQ(json["kind"], "full state");
  EXPECT_EQ(json["clean"], 640);
  EXPECT_EQ(json["runs"][0]["lineage"], "9");
  EXPECT_EQ(json["answers"][0]["end"], 800);
}

TEST_F(CacheCommandTest, ShowsTheRowsOfAMediumWhichHaveNoPath) {
  PutConversation();
  ObjectHeader rows = Snapshot(SomeTokens(8), 8);
  rows.kind = ObjectKind::kMediaRows;
  rows.checkpoint_class = 0;
  CacheCommandOptions options = Command(CacheCommand::kShow, NameText(Put(rows, 3000)));
  const Json json = RunJson(options);
  EXPECT_EQ(json["kind"], "embedding");
  EXPECT_EQ(json["path_whole"], true);
  EXPECT_TRUE(json["path"].empty());
  EXPECT_TRUE(json["snapshots"].empty());
  options.json = false;
  const Said said = Run(options);
  EXPECT_EQ(said.code, 0) << said.error;
  EXPECT_TRUE(Contains(said.out, "kind             embedding\n")) << said.out;
}

TEST_F(CacheCommandTest, FindsObjectsByDigitsThatAreOnesAlone) {
  const Conversation made = PutConversation();
  std::set<std::string> first;
  for (int i = 0; first.size() == static_cast<size_t>(i); ++i) {
    first.insert(NameText(Put(Snapshot(SomeTokens(20), 20), 10)).substr(0, 1));
  }
  // Two begin with the same digit now; one digit cannot do.
  bool several = false;
  for (const std::string& digit : first) {
    const Said said = Run(CacheCommand::kShow, digit);
    several = several || Contains(said.error, "several objects' names begin with");
  }
  EXPECT_TRUE(several);
  const Said none = Run(CacheCommand::kShow, std::string(32, '0'));
  EXPECT_TRUE(Contains(none.error, "cairn cache show: no object's name begins with"));
  const Said wrong = Run(CacheCommand::kShow, "../etc");
  EXPECT_TRUE(Contains(wrong.error, "'../etc' is not an object's name"));
}

class CachePrune : public CacheCommandTest {
 protected:
  std::set<std::string> Left() const {
    const auto files = fs_.Files();
    std::set<std::string> left(files.begin(), files.end());
    left.erase("/cache/lock");
    return left;
  }
  static double Gib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }
};

TEST_F(CachePrune, LeavesWhatIsWorthMost) {
  ObjectHeader dear = Snapshot(SomeTokens(100), 100);
  dear.worth_ms = 1000;
  ObjectHeader cheap = Snapshot(SomeTokens(100), 100);
  cheap.worth_ms = 10;
  Put(dear, 9000);
  Put(cheap, 9000);
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  options.to_gib = Gib(fs_.bytes() - 1);
  const auto json = RunJson(options);
  EXPECT_EQ(json["removed"], Json::array({NameText(cheap)}));
  EXPECT_EQ(json["left_objects"], 1);
  EXPECT_EQ(Left(), std::set<std::string>{PathOf(dear)});
  options.to_gib = 0;
  EXPECT_EQ(RunJson(options)["left_bytes"], 0);
  EXPECT_TRUE(Left().empty());
}

TEST_F(CachePrune, TakesSegmentsAfterWhatStandsOnThem) {
  const Conversation made = PutConversation();
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  // Whatever is left at any size, its path is whole.
  for (uint64_t bytes = fs_.bytes(); !Left().empty(); bytes = fs_.bytes()) {
    options.to_gib = Gib(bytes - 1);
    ASSERT_EQ(Run(options).code, 0);
    EXPECT_EQ(RunJson(CacheCommand::kVerify)["stranded"].size(), 0u);
    const auto list = RunJson(CacheCommand::kList);
    for (const auto& object : list["objects"]) {
      const auto shown = RunJson(Command(CacheCommand::kShow, object["name"].text()));
      EXPECT_EQ(shown["path_whole"], true);
    }
  }
}

TEST_F(CachePrune, DropsWhatIsOldUnlessSomethingNewerStandsOnIt) {
  const Conversation made = PutConversation();  // six hours to one hour old
  const Conversation old = PutConversation();
  for (const auto* headers : {&old.segments, &old.snapshots}) {
    for (const ObjectHeader& header : *headers) {
      ASSERT_TRUE(fs_.SetTime(PathOf(header), test::kNowNs - 100 * test::kHourNs).has_value());
    }
  }
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  options.older_than_days = 2.5 / 24;
  ASSERT_EQ(Run(options).code, 0);
  // The snapshot at 512 is three hours old; the segments are older, and needed.
  std::set<std::string> left = {PathOf(made.snapshots[1]), PathOf(made.snapshots[2])};
  for (const ObjectHeader& segment : made.segments) left.insert(PathOf(segment));
  EXPECT_EQ(Left(), left);
}

TEST_F(CachePrune, DropsBadFilesAndLeavesWhatIsNotOurs) {
  const Conversation made = PutConversation();
  const std::string model = std::string(test::kFolder) + "/" + ToText(fingerprint_) + "/";
  fs_.FlipBit(PathOf(made.snapshots[0]), 8 * (fs_.Stat(PathOf(made.snapshots[0]))->bytes - 1));
  fs_.Truncate(PathOf(made.snapshots[1]), 300);
  MakeNewer(PathOf(made.snapshots[2]));
  fs_.Put("/cache/notes.txt", {});
  fs_.Put(model + "photo.jpg", {});
  fs_.Put(model + "tmp-1", {});
  fs_.Put(model + "tmp-2", {});
  ASSERT_TRUE(fs_.SetTime(model + "tmp-2", test::kNowNs - 2 * test::kHourNs).has_value());
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  options.bad = true;
  const auto json = RunJson(options);
  EXPECT_EQ(json["removed"].size(), 3u) << json;
  const std::set<std::string> left = Left();
  EXPECT_FALSE(left.contains(PathOf(made.snapshots[0])));
  EXPECT_FALSE(left.contains(PathOf(made.snapshots[1])));
  EXPECT_FALSE(left.contains(model + "tmp-2"));
  for (const std::string& path : {PathOf(made.snapshots[2]), std::string("/cache/notes.txt"),
                                  model + "photo.jpg", model + "tmp-1"}) {
    EXPECT_TRUE(left.contains(path)) << path;
  }
}

TEST_F(CachePrune, OnlySaysWhatWouldGoWhenAsked) {
  const Conversation made = PutConversation();
  const std::set<std::string> before = Left();
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  options.to_gib = 0;
  options.dry_run = true;
  const Said said = Run(options);
  EXPECT_TRUE(Contains(said.out, NameText(made.segments[0]))) << said.out;
  EXPECT_TRUE(Contains(said.out, "would remove 6 files")) << said.out;
  EXPECT_EQ(Left(), before);
}

TEST_F(CachePrune, WaitsForWhoIsGivingUp) {
  PutConversation();
  auto server = fs_.AnotherProcess();
  const auto lock = server->TryLock("/cache/lock");
  ASSERT_TRUE(lock.has_value());
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  options.to_gib = 0;
  const Said said = Run(options);
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(Contains(said.error, "try again")) << said.error;
  EXPECT_EQ(Left().size(), 6u);
}

TEST_F(CachePrune, AsksWhatMayGo) {
  PutConversation();
  EXPECT_TRUE(Contains(Run(CacheCommand::kPrune).error, "nothing to prune was named; give --to"));
}

TEST_F(CachePrune, SaysWhatCouldNotBeRemoved) {
  PutConversation();
  fs_.Fail(FsCall::kRemove, 1, ErrorCode::kUnavailable);
  CacheCommandOptions options = Command(CacheCommand::kPrune);
  options.to_gib = 0;
  const Said said = Run(options);
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(Contains(said.out, "not removed: \"/cache/")) << said.out;
  EXPECT_TRUE(Contains(said.out, "removed 5 files")) << said.out;
  EXPECT_TRUE(Contains(said.out, "1 object left")) << said.out;
}

TEST_F(CachePrune, RemovesByName) {
  const Conversation made = PutConversation();
  CacheCommandOptions options = Command(CacheCommand::kRemove);
  options.names = {NameText(made.snapshots[0]), NameText(made.snapshots[1]),
                   NameText(made.snapshots[0])};
  const Said said = Run(options);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(Contains(said.out, "removed 2 files, ")) << said.out;
  EXPECT_EQ(Left().size(), 4u);
  // One that is not there: nothing goes.
  options.names = {NameText(made.snapshots[2]), NameText(made.snapshots[0])};
  EXPECT_EQ(Run(options).code, 1);
  EXPECT_EQ(Left().size(), 4u);
}

TEST_F(CachePrune, RemovesAModelOrAll) {
  PutConversation();
  const std::string identity = "model=2\n";
  fingerprint_ = FingerprintOf(identity);
  ASSERT_TRUE(WriteIdentity(&fs_, test::kFolder, identity).has_value());
  PutConversation();
  fs_.Put("/cache/notes.txt", {});
  CacheCommandOptions options = Command(CacheCommand::kRemove);
  options.model = ToText(fingerprint_).substr(0, 8);
  EXPECT_EQ(Run(options).code, 0);
  EXPECT_EQ(Left().size(), 7u);
  options.model = "";
  options.all = true;
  EXPECT_EQ(Run(options).code, 0);
  EXPECT_EQ(Left(), std::set<std::string>{"/cache/notes.txt"});
}

TEST_F(CachePrune, AsksWhatToRemove) {
  const Conversation made = PutConversation();
  EXPECT_TRUE(Contains(Run(CacheCommand::kRemove).error, "nothing to remove was named"));
  CacheCommandOptions both = Command(CacheCommand::kRemove, NameText(made.snapshots[0]));
  both.all = true;
  EXPECT_TRUE(Contains(Run(both).error, "nothing to remove was named"));
  EXPECT_EQ(Left().size(), 6u);
}

TEST_F(CacheCommandTest, WipeRemovesWhatOneKeyHasLeftOfAllModels) {
  const Conversation without_key = PutConversation();
  const auto put_of = [&](uint64_t name_space, const Fingerprint& model) {
    ObjectHeader header = Snapshot(SomeTokens(100), 100);
    header.name_space = name_space;
    header.fingerprint = model;
    return PathOf(Put(header, 1'000));
  };
  constexpr uint64_t kAnna = UINT64_MAX - 5;
  const std::string anna = put_of(kAnna, fingerprint_);
  const std::string anna_elsewhere = put_of(kAnna, {7, 8});
  const std::string other = put_of(12, fingerprint_);
  CacheCommandOptions options = Command(CacheCommand::kWipe);
  options.name_space = std::to_string(kAnna);
  options.dry_run = true;
  EXPECT_TRUE(Contains(Run(options).out, "would remove 2 files"));
  EXPECT_TRUE(fs_.Stat(anna).has_value());
  options.dry_run = false;
  EXPECT_EQ(Run(options).code, 0);
  EXPECT_FALSE(fs_.Stat(anna).has_value());
  EXPECT_FALSE(fs_.Stat(anna_elsewhere).has_value());
  EXPECT_TRUE(fs_.Stat(other).has_value());
  options.name_space = "none";
  EXPECT_TRUE(Contains(Run(options).out, "removed 6 files"));
  EXPECT_FALSE(fs_.Stat(PathOf(without_key.segments[0])).has_value());
  EXPECT_TRUE(fs_.Stat(other).has_value());
  EXPECT_EQ(RunJson(CacheCommand::kList)["objects"][0]["namespace"], "12");
}

TEST_F(CacheCommandTest, WipeRefusesWhatIsNoNamespaceAndSaysWhatItCouldNotRead) {
  const Conversation made = PutConversation();
  CacheCommandOptions options = Command(CacheCommand::kWipe);
  for (const char* wrong : {"", "anna", "-1", "1x", "99999999999999999999"}) {
    options.name_space = wrong;
    const Said said = Run(options);
    EXPECT_EQ(said.code, 1) << wrong;
    EXPECT_TRUE(Contains(said.error, "nor none")) << said.error;
  }
  EXPECT_TRUE(fs_.Stat(PathOf(made.segments[0])).has_value());
  MakeNewer(PathOf(made.snapshots[0]));
  options.name_space = "none";
  const Said said = Run(options);
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(Contains(said.error, "1 file cannot be read and may hold more")) << said.error;
  EXPECT_FALSE(fs_.Stat(PathOf(made.segments[0])).has_value());
}

}  // namespace
}  // namespace cairn
