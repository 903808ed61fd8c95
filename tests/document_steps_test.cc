#include "document_steps.h"

#include <gtest/gtest.h>

namespace cairn::documents {
namespace {

std::vector<Step> Read(const std::string& page) {
  auto steps = ReadSteps(page);
  EXPECT_TRUE(steps.has_value()) << (steps ? "" : steps.error().message);
  return steps ? *steps : std::vector<Step>();
}

std::string WhyNot(const std::string& page) {
  const auto steps = ReadSteps(page);
  return steps ? "" : steps.error().message;
}

TEST(DocumentSteps, AreTheBlocksThatAShellIsToRun) {
  const auto steps = Read(
      "# Page\n\n```sh\nls\n```\n\n```json\n{}\n```\n## Next\n- a list\n\n  ```\n  cd x\n    ls\n  "
      "```\n");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].commands, "ls\n");
  EXPECT_EQ(steps[0].line, 3u);
  EXPECT_EQ(steps[1].commands, "cd x\n  ls\n");
  EXPECT_EQ(steps[1].section, steps[0].section + 1);
  EXPECT_FALSE(steps[1].serves);
}

TEST(DocumentSteps, TakeTheTextThatFollowsInTheirSectionAsWhatIsSeen) {
  EXPECT_EQ(Read("```\nls\n```\nsays\n```text\na\n```\n```text\nb\n```\n").at(0).expected, "a\n");
  EXPECT_EQ(Read("```\nls\n```\n## Next\n```text\na\n```\n").at(0).expected, "");
  EXPECT_EQ(Read("```\nls\n```\n```json\n{}\n```\n```text\na\n```\n").at(0).expected, "");
  EXPECT_TRUE(Read("```text\na\n```\n").empty());
}

TEST(DocumentSteps, KnowAServerAndItsPort) {
  EXPECT_TRUE(Read("```\nmake serve    # a server\n```\n").at(0).serves);
  EXPECT_EQ(Read("```\nPORT=81 make serve\n```\n").at(0).port, 81);
  const auto steps = Read("```\nbuild/cairn serve -m m.gguf \\\n  --port 8081\n```\n");
  EXPECT_TRUE(steps.at(0).serves);
  EXPECT_EQ(steps.at(0).port, 8081);
  EXPECT_FALSE(Read("```\nbuild/cairn serve --help\nls\n```\n").at(0).serves);
}

TEST(DocumentSteps, LeaveNoBlockOutInSilence) {
  EXPECT_EQ(WhyNot("a\n```\nls\n"), "line 2: the block is not closed");
  EXPECT_EQ(WhyNot("```bash\nls\n```\n"), "line 1: what is the language bash?");
  EXPECT_EQ(WhyNot("```\nls\nbuild/cairn serve -m m\n```\n"),
            "line 1: a server needs a block of its own, as it does not end");
}

TEST(DocumentSteps, FindWhatIsExpectedLineByLineInItsOrder) {
  EXPECT_EQ(FirstMissing("one\n…\nthree\n", "line one\ntwo\nthree, four\n"), "");
  EXPECT_EQ(FirstMissing("three\none\n", "one\nthree\n"), "one");
  EXPECT_EQ(FirstMissing("one\none\n", "one\n"), "one");
  EXPECT_EQ(FirstMissing("one…four\n", "zero one two three four five\n"), "");
  EXPECT_EQ(FirstMissing("one…four\n", "four one\n"), "one…four");
  EXPECT_EQ(FirstMissing("   a b\n", "a \t b\n"), "");
  EXPECT_EQ(FirstMissing("ab\n", "a b\n"), "ab");
}

TEST(DocumentSteps, TakeANumberForAnyNumberButZeroForZeroAlone) {
  EXPECT_EQ(FirstMissing("7 of 1,024 in 0.5 s\n", "12 of 64 in 3 s\n"), "");
  EXPECT_EQ(FirstMissing("\"cached_tokens\": 7\n", "\"cached_tokens\": 0\n"),
            "\"cached_tokens\": 7");
  EXPECT_EQ(FirstMissing("\"cached_tokens\": 0\n", "\"cached_tokens\": 7\n"),
            "\"cached_tokens\": 0");
  EXPECT_EQ(FirstMissing("0 reused\n", "10 reused\n"), "0 reused");
  EXPECT_EQ(FirstMissing("7 reused\n", "none reused\n"), "7 reused");
}

TEST(DocumentSteps, AreLeftOutWholeLineByWholeLine) {
  std::string commands = "make demo     # a conversation\nmake test\n";
  EXPECT_EQ(TakeOut("make demo", &commands), 1u);
  EXPECT_EQ(commands, "make test\n");
  EXPECT_EQ(TakeOut("make", &commands), 0u);
  EXPECT_EQ(commands, "make test\n");
}

std::string Names(const std::string& page) {
  const std::string flags =
      "# Flags\n## cairn\n| `--version` |\n## cairn serve\n| `-m`, `--model` | x (-ngl; all) |\n"
      "## cairn cache\n| `-h` |\n## cairn cache ls\n| `--json` |\n";
  std::string joined;
  for (const std::string& complaint :
       CheckNames(page, flags, "test: build\n\t@x\nbuild lint: x\nrun-%:\n")) {
    joined += complaint + "\n";
  }
  return joined;
}

TEST(DocumentNames, AreThoseOfTheProgramAndItsMakefile) {
  EXPECT_EQ(Names("`cairn serve -m FILE` and\n`cairn cache ls --json`, `--model`, `-ngl N`\n"), "");
  EXPECT_EQ(Names("```\nbuild/cairn serve \\\n  --model x | grep -v y\ncurl -H x\n```\n"), "");
  EXPECT_EQ(Names("`make test ARGS=\"-L unit\"`, `PORT=1 make build # all`, `make lint run-all`\n"),
            "");
  EXPECT_EQ(Names("```json\ncairn --none\n```\n`{\"cairn\":\n1}` `x`\n"), "");
}

TEST(DocumentNames, ThatAreNotThereAreFound) {
  EXPECT_EQ(Names("a\n\nb\n`--modell`\n"), "4: cairn has no flag --modell\n");
  EXPECT_EQ(Names("`{\"cairn\":\n1}` `--mode`\n"), "2: cairn has no flag --mode\n");
  EXPECT_EQ(Names("```\nls\nbuild/cairn cache ls --model x\n```\n"),
            "3: cairn cache ls has no flag --model\n");
  EXPECT_EQ(Names("`cairn cache lost`\n"), "1: cairn cache has no command lost\n");
  EXPECT_EQ(Names("`cairn server`\n"), "1: cairn has no command server\n");
  EXPECT_EQ(Names("`make tset`\n"), "1: make has no target tset\n");
}

}  // namespace
}  // namespace cairn::documents
