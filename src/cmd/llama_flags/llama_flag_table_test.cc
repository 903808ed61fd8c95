#include "cmd/llama_flags/llama_flag_table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "testing/base/golden_file.h"

namespace cairn {
namespace {

TEST(LlamaFlagTable, HasEverySpellingOfLlamaServersHelpWithItsValues) {
  std::istringstream lines(ReadSourceFile("testdata/llama_server_flags.txt"));
  size_t spellings = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    size_t values = 0;
    words >> name >> values;
    const LlamaFlagTable::Found found = OwnLlamaFlags().Find(name);
    ASSERT_NE(found.flag, nullptr) << name;
    EXPECT_EQ(found.flag->values.size(), values) << name;
    ++spellings;
  }
  EXPECT_EQ(spellings, 415u);
}

TEST(LlamaFlagTable, SaysWhyAFlagHasNoEffect) {
  for (const LlamaFlag& flag : OwnLlamaFlags().flags()) {
    if (flag.fate != LlamaFate::kSame) {
      EXPECT_FALSE(flag.note.empty()) << flag.spellings.front().name;
    }
  }
}

TEST(LlamaFlagTable, FindsAFlagByEachOfItsSpellingsAndItsVariable) {
  const LlamaFlagTable& table = OwnLlamaFlags();
  const LlamaFlagTable::Found on = table.Find("-kvo");
  const LlamaFlagTable::Found off = table.Find("-nkvo");
  ASSERT_NE(on.flag, nullptr);
  EXPECT_EQ(on.flag, off.flag);
  EXPECT_FALSE(on.negates);
  EXPECT_TRUE(off.negates);
  EXPECT_EQ(on.flag->here, "--kv-offload");
  EXPECT_EQ(on.flag->negation(), "--no-kv-offload");
  EXPECT_EQ(table.FindVariable("LLAMA_ARG_KV_OFFLOAD"), on.flag);
  EXPECT_EQ(table.Find("-kv").flag, nullptr);
  EXPECT_EQ(table.FindVariable("-"), nullptr);
  EXPECT_EQ(table.FindVariable(""), nullptr);
}

TEST(LlamaFlagTable, KnowsWhichFlagOfOursASpellingIs) {
  const LlamaFlagTable& table = OwnLlamaFlags();
  EXPECT_TRUE(table.Find("-ngl").flag->is_plain());
  EXPECT_EQ(table.Find("-ngl").flag->option(), "--gpu-layers");
  EXPECT_FALSE(table.Find("-ts").flag->is_plain());
  EXPECT_EQ(table.Find("-ts").flag->option(), "--tensor-split");
  EXPECT_EQ(table.Find("--fim-qwen-7b-default").flag->option(), "");
  EXPECT_EQ(table.Find("--poll").flag->option(), "");
}

TEST(LlamaFlagTable, NamesALineThatIsWrong) {
  for (const char* line :
       {"-x --xx", "-x\t-\t-\tsame\t--xx", "x\t-\t-\tsame\t--xx\t-", "-x\t-\t-\tmaybe\t--xx\t-",
        "-x\t-\t-\tsame\t-\t-", "-x\t-\t-\ttunes\t--xx\twhy"}) {
    const auto table = LlamaFlagTable::Parse(line);
    ASSERT_FALSE(table.has_value()) << line;
    EXPECT_NE(table.error().message.find(line), std::string::npos);
  }
  const auto twice =
      LlamaFlagTable::Parse("-x\t-\t-\tsame\t--xx\t-\n-x !-y\t-\t-\tsame\t--xx\t-\n");
  ASSERT_FALSE(twice.has_value());
  EXPECT_NE(twice.error().message.find("-x twice"), std::string::npos);
}

TEST(ShortFlags, SpellsOutLlamaServersShortForms) {
  EXPECT_EQ(SpellOutShortFlags({"serve", "-ngl", "99", "-ctk=q8_0", "-m", "x.gguf"}),
            (std::vector<std::string>{"serve", "--gpu-layers", "99", "--cache-type-k=q8_0", "-m",
                                      "x.gguf"}));
}

TEST(ShortFlags, LeavesValuesAndUnknownFlagsAlone) {
  EXPECT_EQ(SpellOutShortFlags({"-c", "4096", "-x", "fa"}),
            (std::vector<std::string>{"-c", "4096", "-x", "fa"}));
}

TEST(ShortFlags, AndOtherLongNamesBecomeOurs) {
  EXPECT_EQ(
      SpellOutShortFlags({"--n-gpu-layers", "9", "--temperature=1", "-nkvo", "--no-webui"}),
      (std::vector<std::string>{"--gpu-layers", "9", "--temp=1", "--no-kv-offload", "--no-ui"}));
}

TEST(ShortFlags, WithoutAFlagHereStay) {
  EXPECT_EQ(SpellOutShortFlags({"-to", "600", "-cb"}),
            (std::vector<std::string>{"-to", "600", "-cb"}));
}

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
