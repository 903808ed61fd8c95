#include "cache/objects/segment_index.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn::segment_index_test {
namespace {

constexpr NamespaceId kClient = 1;

Tokens T(std::string_view text) {
  return {text.begin(), text.end()};
}

// SegmentIndexTest: stores the missing ranges of a sequence, and gives each new segment the next
// number.
class SegmentIndexTest : public ::testing::Test {
 protected:
  void Store(std::string_view text, const Provenance& provenance) {
    const Tokens tokens = T(text);
    for (const SegmentGap& gap : index.Gaps(kClient, tokens, provenance)) {
      const auto parent = index.ParentFor(kClient, tokens, provenance, gap);
      ASSERT_TRUE(parent.has_value());
      SegmentIndex::Segment segment;
      segment.id = ++last_id;
      segment.name_space = kClient;
      segment.range = gap;
      segment.parent = *parent;
      index.Add(std::move(segment), tokens, provenance);
    }
    index.CheckInvariants();
  }
  // Formats a path as "1[0,4) 2[4,6)".
  std::string Path(std::string_view text, LineageId lineage = 0) {
    std::string sampled;
    for (const SegmentIndex::Link& link : index.PathTo(kClient, T(text), lineage)) {
      sampled += sampled.empty() ? "" : " ";
      sampled += std::to_string(link.id) + "[" + std::to_string(link.begin) + "," +
                 std::to_string(link.end) + ")";
    }
    return sampled;
  }

  SegmentIndex index;
  SegmentId last_id = 0;
};

TEST_F(SegmentIndexTest, StoresASharedPrefixOnce) {
  Store("headerAAAA", {10});
  Store("headerBBB", {9});
  EXPECT_EQ(Path("headerAAAA"), "1[0,10)");
  EXPECT_EQ(Path("headerBBB"), "1[0,6) 2[6,9)");
  EXPECT_EQ(Path("head"), "1[0,4)");
  EXPECT_EQ(index.StoredTo(kClient, T("headerABC")), 7u);
}

TEST_F(SegmentIndexTest, AConversationThatGrowsAddsOnlyWhatIsNew) {
  Store("abcd", {4});
  Store("abcdefgh", {8});
  EXPECT_EQ(Path("abcdefgh"), "1[0,4) 2[4,8)");
  EXPECT_TRUE(index.Gaps(kClient, T("abcdef"), {6}).empty());
}

TEST_F(SegmentIndexTest, TheBitsOfARunAreNobodyElses) {
  Store("abcdXY", {4, {{7, 4}}});
  EXPECT_EQ(Path("abcdXY", 7), "1[0,4) 2[4,6)");
  EXPECT_EQ(Path("abcdXY"), "");
  EXPECT_EQ(index.StoredTo(kClient, T("abcdXY")), 4u);
  Store("abcdXY", {4, {{8, 4}}});
  EXPECT_EQ(Path("abcdX", 8), "1[0,4) 3[4,5)");
}

TEST_F(SegmentIndexTest, ARunThatForksFromAnotherLeansOnIt) {
  Store("abcdXYZ", {4, {{7, 4}}});
  Store("abcdXPQ", {4, {{7, 4}, {8, 5}}});
  EXPECT_EQ(Path("abcdXPQ", 8), "1[0,4) 2[4,5) 3[5,7)");
  const Provenance provenance = index.ProvenanceOf(index.PathTo(kClient, T("abcdXPQ"), 8));
  EXPECT_EQ(provenance.clean, 4u);
  EXPECT_EQ(provenance.runs, (std::vector<cairn::Run>{{7, 4}, {8, 5}}));
}

TEST_F(SegmentIndexTest, AnswersComeBackWithTheirSegmentsAndAreCutWithThem) {
  Store("abcdXYZ", {4, {{7, 4}}, {{4, 7}}});
  Store("abcdXYZW", {4, {{7, 4}}, {{4, 8}}});
  EXPECT_EQ(index.ProvenanceOf(index.PathTo(kClient, T("abcdXYZW"), 7)).answers,
            (std::vector<TokenRange>{{4, 8}}));
  EXPECT_EQ(index.ProvenanceOf(index.PathTo(kClient, T("abcdX"), 7)).answers,
            (std::vector<TokenRange>{{4, 5}}));
}

TEST_F(SegmentIndexTest, OnlyALeafCanGo) {
  Store("headerAAAA", {10});
  Store("headerBBB", {9});
  EXPECT_EQ(index.Get(1).children, 1u);
  index.Remove(2);
  index.CheckInvariants();
  EXPECT_EQ(Path("headerBBB"), "");
  EXPECT_EQ(index.StoredTo(kClient, T("headerBBB")), 6u);
  index.Remove(1);
  EXPECT_EQ(index.StoredTo(kClient, T("headerBBB")), 0u);
}

TEST_F(SegmentIndexTest, WhatComesBeforeAGapMustBeStored) {
  const Provenance provenance{4, {{7, 4}}};
  EXPECT_EQ(index.ParentFor(kClient, T("abcdXY"), provenance, {4, 6, 7}), std::nullopt);
}

}  // namespace
}  // namespace cairn::segment_index_test
