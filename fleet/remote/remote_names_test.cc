#include "fleet/remote/remote_names.h"

#include <gtest/gtest.h>

#include <set>

#include "fleet/remote/remote_objects.h"
#include "testing/store/disk_fixture.h"

namespace cairn {
namespace {

using test::kModel;
using test::kOtherModel;
using test::Segment;
using test::Snapshot;
using test::TokensOf;

RemoteKey KeyOf(char letter) {
  return RemoteKeys::Parse(std::string(40, letter))->keys().front();
}

TEST(RemoteNames, DifferByKeyModelNamespaceAndTokens) {
  const ObjectName name{1, 2};
  std::set<std::string> paths;
  std::set<std::string> blocks;
  for (const char key : {'a', 'b'}) {
    for (const Fingerprint& model : {kModel, kOtherModel}) {
      for (const uint64_t name_space : {0, 7}) {
        const RemoteNames names(KeyOf(key), model, name_space);
        paths.insert(names.PathOf(names.IdOf(name)));
        blocks.insert(names.IndexKeyOf(names.Blocks(TokensOf(512)).front()));
        blocks.insert(names.IndexKeyOf(names.Blocks(TokensOf(512, 1)).front()));
      }
    }
  }
  EXPECT_EQ(paths.size(), 8U);
  EXPECT_EQ(blocks.size(), 16U);
}

TEST(RemoteNames, BlockKeysAgreeAsFarAsTheTokensDo) {
  const RemoteNames names(KeyOf('a'), kModel, 0);
  const auto one = names.Blocks(TokensOf(3000, 1, 1500));
  const auto two = names.Blocks(TokensOf(2000, 2, 1500));
  ASSERT_EQ(one.size(), 5U);
  ASSERT_EQ(two.size(), 3U);
  EXPECT_EQ(one[0], two[0]);
  EXPECT_EQ(one[1], two[1]);
  EXPECT_NE(one[2], two[2]);
  EXPECT_TRUE(names.Blocks(TokensOf(511)).empty());
}

TEST(RemoteNames, PathsAreParsedAndOthersAreNot) {
  const RemoteNames names(KeyOf('a'), kModel, 0);
  const RemoteId id = names.IdOf({1, 2});
  const std::string path = names.PathOf(id);
  const auto parsed = ParseRemotePath(path);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->id, id);
  EXPECT_EQ(parsed->fingerprint, ToText(kModel));
  for (const std::string& other : {names.IdentityPath(), path + "0", path.substr(1), path + "/x",
                                   std::string("v1/"), std::string("v1////")}) {
    EXPECT_FALSE(ParseRemotePath(other)) << other;
  }
}

TEST(RemoteNames, SnapshotsStandUnderOneBlockAndSegmentsUnderAllOfTheirs) {
  using Blocks = std::vector<size_t>;
  EXPECT_EQ(BlocksOf(Snapshot(TokensOf(1600))), Blocks{2});
  EXPECT_EQ(BlocksOf(Snapshot(TokensOf(1536))), Blocks{2});
  EXPECT_EQ(BlocksOf(Snapshot(TokensOf(500))), Blocks{});
  EXPECT_EQ(BlocksOf(Segment(TokensOf(1600), 0, {})), (Blocks{0, 1, 2}));
  EXPECT_EQ(BlocksOf(Segment(TokensOf(1600), 600, {1, 1})), (Blocks{1, 2}));
  // No block ends in it.
  EXPECT_EQ(BlocksOf(Segment(TokensOf(900), 600, {1, 1})), Blocks{0});
}

TEST(RemoteEntry, ComesBackAsItWasAndNothingElseDoes) {
  RemoteEntry entry;
  entry.kind = ObjectKind::kSegment;
  entry.checkpoint_class = 7;
  entry.has_logits = true;
  entry.id = {3, 4};
  entry.parent = {5, 6};
  entry.begin = 10;
  entry.end = 2000;
  entry.lineage = 77;
  entry.stored_bytes = uint64_t{1} << 33;
  entry.worth_ms = 2.5;
  entry.written_s = 1'800'000'000;
  const std::string text = EncodeEntry(entry);
  EXPECT_EQ(text.size(), kEntryBytes);
  EXPECT_EQ(*DecodeEntry(BytesOf(text)), entry);
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_FALSE(DecodeEntry(BytesOf(text).first(bytes)));
  }
  std::string newer = text + "more";
  newer[0] = 2;
  EXPECT_EQ(DecodeEntry(BytesOf(newer)).error().code, ErrorCode::kUnsupported);
  std::string unknown = text;
  unknown[1] = 9;
  EXPECT_FALSE(DecodeEntry(BytesOf(unknown)));
}

}  // namespace
}  // namespace cairn
