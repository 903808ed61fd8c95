#include "engine/architecture_table.h"

#include <gtest/gtest.h>

#include "engine/verified_architectures.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

ArchitectureRow Row(const std::string& architecture, const std::string& variant,
                    const std::string& segments, const std::string& whole = "exact") {
  return {architecture, variant, "attention", "64", "exact", "12 of 12", segments, whole};
}

TEST(ArchitectureTable, ReadsWhatItWroteInOrder) {
  const ArchitectureTable table = {"libllama 1.2.3",
                                   {Row("b", "dense", "aborts"), Row("a", "moe", "exact")}};
  const auto read = ParseArchitectureTable(FormatArchitectureTable(table));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->made_with, "libllama 1.2.3");
  EXPECT_EQ(read->rows, (std::vector<ArchitectureRow>{table.rows[1], table.rows[0]}));
}

TEST(ArchitectureTable, RefusesALineThatIsNotARowAndNamesIt) {
  const std::string good = FormatArchitectureTable({"x", {Row("a", "moe", "exact")}});
  const auto why = [&](const std::string& more) {
    const auto read = ParseArchitectureTable(good + more);
    return read ? "nothing is wrong" : read.error().message;
  };
  EXPECT_EQ(why(""), "nothing is wrong");
  const std::string cells = "line 5 of the table of architectures does not have 8 cells";
  EXPECT_EQ(why("b\tdense\tattention\t64\texact\t12 of 12\texact\n").substr(0, cells.size()),
            cells);
  EXPECT_EQ(why("b\tdense\tattention\t64\t\t12 of 12\texact\texact\n").substr(0, cells.size()),
            cells);
  EXPECT_EQ(
      why("b\tdense\tattention\t64\texact\t12 of 12\texact\texact\tmore\n").substr(0, cells.size()),
      cells);
  // A repeated row is rejected too, because it would be unclear which of the two counts.
  EXPECT_EQ(why("a\tmoe\tattention\t64\texact\t12 of 12\tnone\texact\n"),
            "line 5 of the table of architectures does not come after the line before it");
  EXPECT_FALSE(ParseArchitectureTable("architecture\tsegments\n").has_value());
}

TEST(ArchitectureTable, TrustsSegmentsOnlyWhereEveryModelOfTheArchitectureMovedThem) {
  const ArchitectureTable table = {
      "x",
      {Row("both", "dense", "exact"), Row("both", "moe", "exact"), Row("half", "dense", "exact"),
       Row("half", "moe", "aborts"), Row("none", "dense", "none")}};
  EXPECT_TRUE(HasExactSegments(table, "both"));
  EXPECT_FALSE(HasExactSegments(table, "half"));
  EXPECT_FALSE(HasExactSegments(table, "none"));
  EXPECT_FALSE(HasExactSegments(table, "unheard-of"));
}

TEST(ArchitectureTable, LetsFullStatesBeTriedWhereNoneWasSeenToFail) {
  const ArchitectureTable table = {
      "x",
      {Row("both", "dense", "aborts"), Row("both", "moe", "aborts"), Row("half", "dense", "exact"),
       Row("half", "moe", "exact", "aborts")}};
  EXPECT_FALSE(FailsWithFullStates(table, "both"));
  EXPECT_TRUE(FailsWithFullStates(table, "half"));
  EXPECT_FALSE(FailsWithFullStates(table, "unheard-of"));
}

TEST(VerifiedArchitectures, AreThoseOfTheFile) {
  const auto file = ParseArchitectureTable(ReadSourceFile("src/engine/architectures.tsv"));
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(VerifiedArchitectures(), *file);
}

// These abort the process, whatever else a later run finds.
TEST(VerifiedArchitectures, LetNoneMoveSegmentsThatWasSeenToAbort) {
  for (const char* const architecture : {"llama", "qwen35", "gemma3", "lfm2", "falcon-h1"}) {
    EXPECT_TRUE(SegmentsVerified(architecture)) << architecture;
  }
  for (const char* const architecture : {"deepseek4", "qwen4exp", "glm5-next", "mamba2"}) {
    EXPECT_FALSE(SegmentsVerified(architecture)) << architecture;
    EXPECT_TRUE(FullStatesMayBeTried(architecture)) << architecture;
  }
}

}  // namespace
}  // namespace cairn
