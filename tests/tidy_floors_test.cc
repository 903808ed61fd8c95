// Checks the rules on floors, fragments and fields. The lists of exceptions here are today's state
// and only become shorter: who adds an include against the order of floors moves code instead.

#include <gtest/gtest.h>

#include <iterator>

#include "tidy_repository.h"
#include "tidy_rules.h"

namespace cairn::tidy {
namespace {

constexpr const char* kUpwardIncludes[] = {};

TEST(TidyFloors, SubFoldersIncludeOnlyFloorsBelowThem) {
  EXPECT_EQ(Without(Joined(CheckFloors(Sources())),
                    {std::begin(kUpwardIncludes), std::end(kUpwardIncludes)}),
            "");
}

TEST(TidyFloors, SmallUnitsHaveMoreThanOneUser) {
  EXPECT_EQ(Without(Joined(CheckFragments(Sources())),
                    {
                        "src/chat/learn/call_probes:",

                        "src/engine/llama/backend/backends_folder:",

                    }),
            "");
}

TEST(TidyFloors, ClassesHaveAtMostTwentyFiveFields) {
  std::string complaints;
  for (const SourceFile& file : Sources()) complaints += Joined(CheckClassFields(file));
  EXPECT_EQ(Without(complaints, {"LearnedCallReader has 26 fields", "ServeRun has 30 fields",
                                 "ServeOptions has 97 fields", "SamplingParams has 26 fields",
                                 "LlamaOptions has 56 fields", "Model has 32 fields",
                                 "RequestState has 28 fields", "SchedulerOptions has 29 fields",
                                 "SchedulerStats has 41 fields"}),
            "");
}

std::string Lines60() {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "int a;\n";
  return lines;
}

TEST(TidyFloorsRules, FindIncludesOfAFloorAbove) {
  const std::string up = "#include \"sched/slots/a.h\"\n#include \"sched/slots/b.h\"\n";
  const std::string complaint =
      "src/sched: answer includes slots, a floor above it, 2x: "
      "src/sched/answer/a.cc -> sched/slots/a.h; src/sched/answer/a.cc -> sched/slots/b.h;\n";
  EXPECT_EQ(Joined(CheckFloors({{"src/sched/answer/a.cc", up}})), complaint);
  EXPECT_EQ(Joined(CheckFloors({{"src/sched/answer/a_test.cc", up},
                                {"src/sched/slots/a.cc", "#include \"sched/answer/a.h\"\n" + up},
                                {"src/api/answer/a.cc", up},
                                {"testing/sched/a.cc", up}})),
            "");
  EXPECT_EQ(Joined(CheckFloors({{"src/sched/answer/a.cc", up}, {"src/sched/slots/a.h", ""}})),
            complaint);
}

TEST(TidyFloorsRules, FindSubFoldersWithoutAFloor) {
  EXPECT_EQ(Joined(CheckFloors({{"src/sched/cellar/a.cc", ""}})),
            "src/sched: cellar has no place among the floors\n");
  EXPECT_EQ(Joined(CheckFloors({{"src/tree/cellar/a.cc", ""}, {"src/tree/a.cc", ""}})),
            "src/tree: cellar has no place among the floors\n");
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
  const std::vector<SourceFile> files = {{"src/a/b.h", "int a;\n"},
                                         {"src/a/c.h", "#include \"a/b.h\"\n"}};
  EXPECT_EQ(CheckFragments(files).size(), 1u);
  std::vector<SourceFile> longer = files;
  for (int i = 0; i < 10; ++i) longer[1].text += Lines60();
  EXPECT_EQ(Joined(CheckFragments(longer)), "");
  EXPECT_EQ(Joined(CheckFragments({files[0], {"src/d/c.h", "#include \"a/b.h\"\n"}})), "");
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
