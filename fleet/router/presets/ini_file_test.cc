#include "fleet/router/presets/ini_file.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

// Returns the sections as "[name]key=value;key=value;", or the error.
std::string Parsed(std::string_view text) {
  const auto sections = ParseIni(text);
  if (!sections) return sections.error().message;
  std::string shown;
  for (const IniSection& section : *sections) {
    shown += "[" + section.name + "]";
    for (const auto& [key, value] : section.values) shown.append(key + "=" + value + ";");
  }
  return shown;
}

TEST(Ini, ReadsSectionsAndTheKeysBeforeThem) {
  EXPECT_EQ(Parsed("version = 1\n\n[*]\nctx-size=4096\n[qwen]\nmodel = /a b/c.gguf\ntemp =\n"),
            "[]version=1;[*]ctx-size=4096;[qwen]model=/a b/c.gguf;temp=;");
}

TEST(Ini, OfNothingHasOneSectionWithoutAName) {
  EXPECT_EQ(Parsed(""), "[]");
  EXPECT_EQ(Parsed("\n\n# only\n ; comments"), "[]");
}

TEST(Ini, LeavesOutCommentsAndBlanks) {
  EXPECT_EQ(Parsed("; one\n[ a ] # two\n  key\t=  value  ; three\nx = a#b\n"),
            "[][a]key=value;x=a;");
}

TEST(Ini, KeepsEqualsSignsInValuesAndBracketsInThem) {
  EXPECT_EQ(Parsed("[a]\nkwargs = {\"x\": [1]} = y\n"), "[][a]kwargs={\"x\": [1]} = y;");
}

TEST(Ini, TakesNamesOfModelsAsTheyAre) {
  EXPECT_EQ(Parsed("[ggml-org/gemma:Q4_0]\nLLAMA_ARG_PORT=1"),
            "[][ggml-org/gemma:Q4_0]LLAMA_ARG_PORT=1;");
}

TEST(Ini, EndsLinesAsEverySystemDoes) {
  EXPECT_EQ(Parsed("[a]\r\nx = 1\r\ny = 2\rz = 3"), "[][a]x=1;y=2;z=3;");
  EXPECT_EQ(Parsed("\xEF\xBB\xBF[a]\nx = 1"), "[][a]x=1;");
}

TEST(Ini, LetsTheLastOfARepeatedKeyCount) {
  EXPECT_EQ(Parsed("[a]\nx = 1\ny = 2\nx = 3\n"), "[][a]x=3;y=2;");
}

TEST(Ini, NamesTheLineThatIsWrong) {
  EXPECT_EQ(Parsed("[a]\nx = 1\nnonsense\n"), "line 3 is neither [section] nor key = value");
  EXPECT_EQ(Parsed("\n9key = 1"), "line 2 is neither [section] nor key = value");
  EXPECT_EQ(Parsed("a key = 1"), "line 1 is neither [section] nor key = value");
  EXPECT_EQ(Parsed("[a\nx = 1"), "line 1 is no section; expected [name]");
  EXPECT_EQ(Parsed("[]"), "line 1 is no section; expected [name]");
  EXPECT_EQ(Parsed("[a] b"), "line 1 is no section; expected [name]");
  EXPECT_EQ(Parsed("[a]\n[b]\n[a]"), "line 3 begins the section [a] a second time");
}

TEST(Ini, SurvivesEveryBeginningOfAFile) {
  const std::string whole = "v = 1\r\n[*] ; x\n a-b = c # d\n[q]\nmodel=\"e\"\n";
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto sections = ParseIni(whole.substr(0, size));
    if (sections) {
      EXPECT_GE(sections->size(), 1u) << size;
    }
  }
}

}  // namespace
}  // namespace cairn
