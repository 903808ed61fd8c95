#include "api/record/json_aliases.h"

#include <gtest/gtest.h>

namespace cairn::json_aliases_test {
namespace {

using Path = ReuseReport::Path;
using Why = Explanation::Why;

TEST(JsonAliases, RepeatTheReuseOfAPromptUnderOldNames) {
  ReuseReport report;
  report.path = Path::kAssembled;
  Explanation explanation;
  explanation.why = Why::kNoCheckpoint;
  Json reuse = {{"computed_tokens", 3}, {"prefetched_tokens", 4}};
  reuse["path"] = PathName(report.path);
  reuse["explanation"] = {{"reason", WhyName(explanation.why)}};
  AddReuseAliases(report, explanation, &reuse);
  EXPECT_EQ(reuse["path"], "assembled");
  EXPECT_EQ(reuse["way"], "joined");
  EXPECT_EQ(reuse["read_tokens"], 3);
  EXPECT_EQ(reuse["warmed_tokens"], 4);
  EXPECT_EQ(reuse["explanation"]["reason"], "no_checkpoint");
  EXPECT_EQ(reuse["explanation"]["why"], "no_way_back");
}

TEST(JsonAliases, RepeatOnlyHeadersThatAreThere) {
  std::vector<std::pair<std::string, std::string>> headers = {{"x-cairn-prefetched-tokens", "5"}};
  AddHeaderAliases({}, {}, &headers);
  ASSERT_EQ(headers.size(), 4u);
  EXPECT_EQ(headers[1], std::pair(std::string("x-cairn-warmed-tokens"), std::string("5")));
  EXPECT_EQ(headers[2], std::pair(std::string("x-cairn-way"), std::string("nothing")));
  EXPECT_EQ(headers[3], std::pair(std::string("x-cairn-why"), std::string("all_known")));
}

TEST(JsonAliases, KeepTheOldSpellingOfEveryPathAndReason) {
  std::string paths;
  for (const Path path : {Path::kNothing, Path::kWentOn, Path::kCut, Path::kRestored,
                          Path::kAssembled, Path::kForked, Path::kFullState, Path::kMoved}) {
    paths += std::string(PathName(path)) + " was " + std::string(DeprecatedPathName(path)) + "\n";
  }
  EXPECT_EQ(paths,
            "none was nothing\ncontinued was went_on\ntruncated was cut\nrestored was restored\n"
            "assembled was joined\nforked was forked\nfull_state was whole\nmoved was moved\n");
  EXPECT_EQ(DeprecatedWhyName(Why::kDiverged), "parted");
  EXPECT_EQ(DeprecatedWhyName(Why::kNoCheckpoint), "no_way_back");
  EXPECT_EQ(DeprecatedWhyName(Why::kNewPrompt), "new_prompt");
}

}  // namespace
}  // namespace cairn::json_aliases_test
