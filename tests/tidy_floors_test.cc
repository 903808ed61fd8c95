// Checks the rules on floors, small units and fields: each on the repository and on a bad example.

#include <gtest/gtest.h>

#include "tidy_repository.h"
#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

TEST(TidyFloors, SubFoldersIncludeOnlyFloorsBelowThem) {
  EXPECT_EQ(OfAll(CheckFloors), "");
}

TEST(TidyFloors, SmallUnitsHaveMoreThanOneUser) {
  EXPECT_EQ(Without(Joined(CheckFragments(Sources())),
                    {// Compiled with a definition of its own.
                     "src/engine/llama/backend/backends_folder:"}),
            "");
}

// The classes that have more are listed with their fields today, of which there may only be fewer.
TEST(TidyFloors, ClassesHaveAtMostTwentyFiveFields) {
  EXPECT_EQ(Without(OfAll(CheckClassFields),
                    {"LearnedCallReader has 26 fields", "ServeRun has 30 fields",
                     "ServeOptions has 97 fields", "SamplingParams has 26 fields",
                     "LlamaOptions has 57 fields", "Model has 32 fields"}),
            "");
}

std::string Lines60() {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "int a;\n";
  return lines;
}

TEST(TidyFloorsRules, FindIncludesOfAFloorAbove) {
  const auto says = [](const std::string& path, const std::string& include) {
    return Joined(CheckFloors({path, "\n#include \"" + include + "\"\n"}));
  };
  EXPECT_EQ(says("src/sched/answer/a.cc", "sched/slots/a.h"),
            "src/sched/answer/a.cc:2: sched/slots/a.h is on a floor above answer\n");
  EXPECT_EQ(says("src/sched/answer/a.cc", "sched/a.h"),
            "src/sched/answer/a.cc:2: sched/a.h is on a floor above answer\n");
  EXPECT_EQ(says("src/api/a.h", "api/grammar/schema/a.h"),
            "src/api/a.h:2: api/grammar/schema/a.h is on a floor above .\n");
  EXPECT_EQ(says("src/sched/slots/a.cc", "sched/answer/a.h"), "");
  EXPECT_EQ(says("src/sched/slots/a.cc", "sched/slots/b.h"), "");
  EXPECT_EQ(says("src/sched/answer/a_test.cc", "sched/slots/a.h"), "");
  EXPECT_EQ(says("src/api/answer/a.cc", "sched/slots/a.h"), "");
  EXPECT_EQ(says("testing/sched/a.h", "sched/slots/a.h"), "");
}

TEST(TidyFloorsRules, FindSubFoldersWithoutAFloor) {
  EXPECT_EQ(Joined(CheckFloors({"src/sched/cellar/a.cc", ""})),
            "src/sched/cellar/a.cc:1: cellar has no place among the floors of sched\n");
  EXPECT_EQ(Joined(CheckFloors({"src/tree/cellar/a.cc", ""})),
            "src/tree/cellar/a.cc:1: cellar has no place among the floors of tree\n");
  EXPECT_EQ(Joined(CheckFloors({"src/tree/a.cc", ""})), "");
}

TEST(TidyFloorsRules, FindSmallUnitsThatOneOtherIncludes) {
  const auto says = [](const std::vector<SourceFile>& more) {
    std::vector<SourceFile> files = {{"src/a/b.h", "int a;\n"},
                                     {"src/a/b.cc", "#include \"a/b.h\"\n"},
                                     {"src/a/b_test.cc", "#include \"a/b.h\"\n"},
                                     {"src/a/c/d.cc", "#include \"a/b.h\"\n"}};
    files.insert(files.end(), more.begin(), more.end());
    return Joined(CheckFragments(files));
  };
  const std::string complaint =
      "src/a/b: a unit of 2 lines that only src/a/c/d includes belongs there\n";
  EXPECT_EQ(says({}), complaint);
  EXPECT_EQ(says({{"src/a/c/d.h", "#include \"a/b.h\"\n"}}), complaint);
  EXPECT_EQ(says({{"src/e/f.cc", "#include \"a/b.h\"\n"}}), "");
  EXPECT_EQ(says({{"src/a/b.cc", Lines60()}}), "");
}

TEST(TidyFloorsRules, LeaveSmallUnitsThatWouldMakeAFileTooLongOrAreOfAnotherFolder) {
  const SourceFile unit{"src/a/b.h", "int a;\n"};
  const std::string include = "#include \"a/b.h\"\n";
  std::string lines = include;
  for (int i = 0; i < 9; ++i) lines += Lines60();
  for (const char* user : {"src/a/c.h", "src/a/c.cc"}) {
    EXPECT_EQ(CheckFragments({unit, {user, lines}}).size(), 1u) << user;
    EXPECT_EQ(Joined(CheckFragments({unit, {user, lines + Lines60()}})), "") << user;
  }
  EXPECT_EQ(Joined(CheckFragments({unit, {"src/d/c.h", include}})), "");
}

TEST(TidyFloorsRules, CountTheFieldsOfAClassAndNothingElse) {
  const auto says = [](size_t count, const std::string& member) {
    std::string members;
    for (size_t i = 0; i < count; ++i) members += member;
    return Joined(CheckClassFields({"src/a.h", "struct A : B<C> {\n" + members + "};\n"}));
  };
  const std::string all = "src/a.h:1: A has 26 fields\n";
  EXPECT_EQ(says(26, "  std::function<void(int)> a = {};\n"), all);
  EXPECT_EQ(says(26, " private:\n  const size_t a_{F(3)};\n"), all);
  EXPECT_EQ(says(25, "  int a;\n"), "");
  EXPECT_EQ(says(26, "  int a() const;\n  int b() { return 1; }\n  A(A&&) = delete;\n"), "");
  EXPECT_EQ(says(26, "  static constexpr int kA = 1;\n  using B = int;\n  friend class C;\n"), "");
  EXPECT_EQ(says(26, "  struct B {\n    int a;\n  };\n  enum class E { kA };\n"), "");
}

}  // namespace
}  // namespace cairn::tidy
