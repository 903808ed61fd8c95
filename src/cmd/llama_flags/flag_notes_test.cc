#include "cmd/llama_flags/flag_notes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn {
namespace {

std::vector<std::string> LinesOf(const FlagNotes& notes) {
  std::vector<std::string> lines;
  LogFlagNotes(notes, [&lines](LogLevel, std::string_view line) { lines.emplace_back(line); });
  return lines;
}

TEST(FlagNotes, SayOnceWhatIsAlwaysSo) {
  EXPECT_EQ(
      LinesOf({{"--jinja", "-cb"}, {}, {}}),
      (std::vector<std::string>{"--jinja, -cb: all that is always so here, without the flag"}));
  EXPECT_EQ(LinesOf({{"--jinja"}, {}, {}}),
            (std::vector<std::string>{"--jinja: that is always so here, without the flag"}));
}

TEST(FlagNotes, HaveALineForEachFlagWithoutEffect) {
  EXPECT_EQ(LinesOf({{}, {"a", "b"}, {}}), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(LinesOf({}).empty());
}

TEST(FlagNotes, AreJoined) {
  FlagNotes notes = {{"a"}, {"b"}, {}};
  AppendNotes({{"c"}, {}, {"D"}}, &notes);
  EXPECT_EQ(notes.always, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(notes.lines, (std::vector<std::string>{"b"}));
  EXPECT_EQ(notes.unknown_variables, (std::vector<std::string>{"D"}));
}

}  // namespace
}  // namespace cairn
