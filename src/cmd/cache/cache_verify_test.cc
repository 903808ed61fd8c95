// cairn cache verify: finds what is bad, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "store/folder/identity.h"
#include "testing/cmd/cache_fixture.h"

namespace cairn {
namespace {

using test::CacheCommandTest;
using test::Said;

constexpr size_t kDefects = 1000;
constexpr size_t kGood = 120;
constexpr std::array kCodecs = {Codec::kRaw, Codec::kLossless};

class CacheVerify : public CacheCommandTest {
 protected:
  size_t Below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  // An object of any kind, by any codec, with from none to some thousands of tokens.
  ObjectHeader PutAny() {
    const Tokens tokens = SomeTokens(Below(3000) + 2);
    ObjectHeader header;
    switch (Below(3)) {
      case 0:
        header = Snapshot(tokens, tokens.size(), static_cast<uint8_t>(1 + Below(11)));
        header.turns = Below(9);
        break;
      case 1:
        header = Segment(tokens, 0, tokens.size(), nullptr);
        header.answers = {{Below(tokens.size()), tokens.size()}};
        break;
      default:
        header = Snapshot(tokens, tokens.size(), 0);
        header.kind = ObjectKind::kFullState;
        header.clean = tokens.size() - 1;
        header.runs = {{random_() | 1, tokens.size() - 1}};
    }
    header.name_space = Below(3);
    return Put(header, 4 * (1 + Below(3000)), 1, kCodecs[Below(kCodecs.size())]);
  }

  uint64_t Size(const std::string& path) { return fs_.Stat(path)->bytes; }
  uint64_t FrontSize(const std::string& path) {
    return *FrontBytes(*fs_.Read(path, 0, kFrontBytesMin));
  }
  void Replace(const std::string& path, const Bytes& bytes) { fs_.Put(path, bytes); }
  void Move(const std::string& from, const std::string& to) {
    fs_.Put(to, *fs_.Read(from, 0, Size(from)));
    ASSERT_TRUE(fs_.Remove(from).has_value());
  }
  std::string RandomName() { return ToText(ObjectName{random_() | 1, random_()}) + ".cairn"; }

  // Makes the good file at `path` a bad one. Returns where it is then.
  std::string Spoil(const std::string& path, size_t kind) {
    const std::string model = path.substr(0, path.find_last_of('/') + 1);
    const uint64_t size = Size(path);
    const uint64_t front = FrontSize(path);
    switch (kind) {
      case 0:  // a bit in the front
        fs_.FlipBit(path, Below(8 * front));
        return path;
      case 1:  // a bit in the payload
        fs_.FlipBit(path, 8 * front + Below(8 * (size - front)));
        return path;
      case 2:  // cut short anywhere
        fs_.Truncate(path, Below(size));
        return path;
      case 3: {  // longer than it was
        Bytes bytes = *fs_.Read(path, 0, size);
        bytes.resize(size + 1 + Below(5000), 7);
        Replace(path, bytes);
        return path;
      }
      case 4:  // something else altogether, under an object's name
        Replace(path, Payload(Below(20'000)));
        return path;
      case 5: {  // under another object's name
        std::string to = model + RandomName();
        Move(path, to);
        return to;
      }
      case 6: {  // under a name that is no object's
        std::string to = path + (Below(2) == 0 ? ".bak" : "~");
        Move(path, to);
        return to;
      }
      case 7: {  // in another model's folder
        std::string to =
            "/cache/" + ToText(Fingerprint{random_(), 5}) + path.substr(path.find_last_of('/'));
        Move(path, to);
        return to;
      }
      case 8: {  // of a newer or an older version
        Bytes bytes = *fs_.Read(path, 0, size);
        bytes[8] = static_cast<uint8_t>(Below(2) == 0 ? 0 : 2 + Below(200));
        Replace(path, bytes);
        return path;
      }
      default: {  // bytes of its midst lost or zeroed, as by a device that lied
        Bytes bytes = *fs_.Read(path, 0, size);
        const size_t begin = Below(bytes.size() - 1);
        const size_t end = begin + 1 + Below(bytes.size() - begin - 1);
        const Bytes before = bytes;
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                  bytes.begin() + static_cast<std::ptrdiff_t>(end), 0);
        if (bytes == before) bytes.pop_back();
        Replace(path, bytes);
        return path;
      }
    }
  }
};

TEST_F(CacheVerify, FindsEveryOneOfAThousandDefectsAndAcceptsEveryGoodFile) {
  constexpr size_t kKinds = 10;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    fs_.RemoveFolder(test::kFolder);
    std::map<std::string, size_t> planted;  // where, and what
    for (size_t i = 0; i < kDefects; ++i) {
      const std::string path = PathOf(PutAny());
      planted.emplace(Spoil(path, i % kKinds), i % kKinds);
    }
    ASSERT_EQ(planted.size(), kDefects);
    for (size_t i = 0; i < kGood; ++i) PutAny();

    CacheCommandOptions options = Command(CacheCommand::kVerify);
    options.json = true;
    const Said said = Run(options);
    EXPECT_EQ(said.code, 1);
    const auto json = Json::parse(said.out, nullptr, false);
    EXPECT_EQ(json["good"], kGood);
    std::set<std::string> found;
    for (const auto& bad : json["bad"]) {
      found.insert(bad["file"].text());
      EXPECT_TRUE(planted.contains(bad["file"].text())) << "is good: " << bad["why"];
    }
    for (const auto& [path, kind] : planted) {
      EXPECT_TRUE(found.contains(path)) << "defect of kind " << kind << " at " << path;
    }
  }
}

TEST_F(CacheVerify, AcceptsAGoodFolder) {
  PutConversation();
  ASSERT_TRUE(WriteIdentity(&fs_, test::kFolder, "model=1\n").has_value());
  fs_.Put("/cache/lock", {});
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.error, "");
  EXPECT_EQ(said.out.find("6 objects good, "), 0u) << said.out;
  EXPECT_TRUE(Contains(said.out, "0 bad, 0 stranded, 0 unfinished\n")) << said.out;
}

TEST_F(CacheVerify, SaysWhatIsWrongWithAFile) {
  const Conversation made = PutConversation();
  const std::string model = std::string(test::kFolder) + "/" + ToText(fingerprint_) + "/";
  const auto why = [&](const std::string& path) {
    const auto json = RunJson(CacheCommand::kVerify);
    for (const auto& bad : json["bad"]) {
      if (bad["file"] == path) return bad["why"].get<std::string>();
    }
    return std::string("it was not found");
  };
  const std::string path = PathOf(made.snapshots[0]);
  const Bytes good = *fs_.Read(path, 0, Size(path));
  fs_.FlipBit(path, 8 * good.size() - 1);
  EXPECT_TRUE(Contains(why(path), "the checksum of its payload")) << why(path);
  Replace(path, good);
  fs_.FlipBit(path, 8 * 300);
  EXPECT_TRUE(Contains(why(path), "the checksum of its front")) << why(path);
  Replace(path, good);
  fs_.Truncate(path, good.size() - 1);
  EXPECT_TRUE(Contains(why(path), "bytes")) << why(path);
  Replace(path, good);
  // Of the format's number: a newer version would have written a checksum that holds.
  fs_.FlipBit(path, 8 * 8 + 1);
  EXPECT_TRUE(Contains(why(path), "the checksum of its fixed header")) << why(path);
  Replace(path, good);
  const std::string other = model + RandomName();
  Move(path, other);
  EXPECT_TRUE(Contains(why(other), "it should be called " + NameText(made.snapshots[0])))
      << why(other);
  Move(other, path);
  fs_.Put("/cache/notes.txt", {});
  EXPECT_TRUE(Contains(why("/cache/notes.txt"), "it is none of ours"));
}

TEST_F(CacheVerify, NamesANewerVersionsFilesAndDoesNotBlameThem) {
  const Conversation made = PutConversation();
  const std::string path = PathOf(made.snapshots[0]);
  MakeNewer(path);
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(Contains(said.out, "newer format: \"" + path + "\": written by a newer cairn"))
      << said.out;
  EXPECT_EQ(said.out.find("newer format: "), 0u) << said.out;
  EXPECT_TRUE(Contains(said.out, "0 bad, 0 stranded, 0 unfinished, 1 of a newer format\n"))
      << said.out;
  const auto json = RunJson(CacheCommand::kVerify);
  EXPECT_EQ(json["good"], 5);
  EXPECT_EQ(json["bad"].size(), 0u);
  ASSERT_EQ(json["newer_format"].size(), 1u);
  EXPECT_EQ(json["newer_format"][0]["file"], path);
}

TEST_F(CacheVerify, TakesWhatANewerVersionPutInPlaceMeanwhileForItsOwn) {
  const Conversation made = PutConversation();
  const std::string path = PathOf(made.snapshots[0]);
  int reads = 0;
  fs_.OnCall([&](FsCall call, const std::string& of) {
    // The first is the scan's.
    if (call == FsCall::kRead && of == path && ++reads == 2) MakeNewer(path);
  });
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_TRUE(Contains(said.out, "5 objects good, ")) << said.out;
  EXPECT_TRUE(Contains(said.out, ", 1 of a newer format\n")) << said.out;
}

TEST_F(CacheVerify, NamesAnIdentityThatIsAnothers) {
  ASSERT_TRUE(WriteIdentity(&fs_, test::kFolder, "model=1\n").has_value());
  const std::string path = fs_.Files().front();
  fs_.FlipBit(path, 3);
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(Contains(said.out, "bad: \"" + path + "\": it is not the text")) << said.out;
}

TEST_F(CacheVerify, CallsASegmentWithoutItsBeginningStrandedAndNotBad) {
  const Conversation made = PutConversation();
  ASSERT_TRUE(fs_.Remove(PathOf(made.segments[0])).has_value());
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(Contains(said.out, "stranded: \"" + PathOf(made.segments[1]) + "\"")) << said.out;
  EXPECT_TRUE(Contains(said.out, "0 bad, 1 stranded")) << said.out;
}

TEST_F(CacheVerify, StrandsWhatBeginsInABadSegment) {
  const Conversation made = PutConversation();
  fs_.FlipBit(PathOf(made.segments[1]), 8 * Size(PathOf(made.segments[1])) - 1);
  const auto json = RunJson(CacheCommand::kVerify);
  EXPECT_EQ(json["bad"].size(), 1u);
  EXPECT_EQ(json["bad"][0]["removable"], true);
  EXPECT_EQ(json["stranded"], Json::array({PathOf(made.segments[2])}));
}

TEST_F(CacheVerify, NamesWhatIsBeingWrittenAndDoesNotBlameIt) {
  PutConversation();
  fs_.Put(std::string(test::kFolder) + "/" + ToText(fingerprint_) + "/tmp-12-3", Payload(100));
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(Contains(said.out, "unfinished: \"/cache/")) << said.out;
}

TEST_F(CacheVerify, TakesWhatAServerGivesUpMeanwhileForGone) {
  const Conversation made = PutConversation();
  auto server = fs_.AnotherProcess();
  const std::string path = PathOf(made.snapshots[0]);
  int reads = 0;
  fs_.OnCall([&](FsCall call, const std::string& of) {
    // The first is the scan's.
    if (call == FsCall::kRead && of == path && ++reads == 2) {
      static_cast<void>(server->Remove(path));
    }
  });
  const Said said = Run(CacheCommand::kVerify);
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_EQ(said.out.find("5 objects good, "), 0u) << said.out;
}

TEST_F(CacheVerify, NamesAFileThatTheDeviceCannotRead) {
  PutConversation();
  fs_.FailAll(FsCall::kRead, ErrorCode::kInternal);
  const auto json = RunJson(CacheCommand::kVerify);
  EXPECT_EQ(json["good"], 0);
  ASSERT_EQ(json["bad"].size(), 6u);
  EXPECT_EQ(json["bad"][0]["removable"], false);
}

}  // namespace
}  // namespace cairn
