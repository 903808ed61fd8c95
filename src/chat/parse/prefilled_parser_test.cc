#include "chat/parse/prefilled_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/chat/parsed_answer.h"

namespace cairn::prefilled_parser_test {
namespace {

using test::AnswerCollector;
using test::Format;

// Returns the parsed `answer` after `prefilled`; checks that pushing it byte by byte gives the
// same.
std::string Answer(const AnswerFormat& format, const std::string& prefilled,
                   const std::string& answer) {
  const auto whole = MakePrefilledParser(format, prefilled);
  AnswerCollector collected;
  collected.Add(whole->Push(answer));
  collected.Add(whole->Finish());
  const auto slow = MakePrefilledParser(format, prefilled);
  AnswerCollector bytes;
  for (const char c : answer) bytes.Add(slow->Push({&c, 1}));
  bytes.Add(slow->Finish());
  const std::string text = collected.Get().text;
  EXPECT_EQ(bytes.Get().text, text);
  return text;
}

const AnswerFormat kHermes = Format(CallFormat::kHermes);

TEST(PrefilledParser, GivesOutWhatComesBehindTheTextAlone) {
  EXPECT_EQ(Answer(kHermes, "A cairn is", " a pile."), "content{ a pile.}");
  EXPECT_EQ(Answer(kHermes, "A cairn is ", "a pile."), "content{a pile.}");
  EXPECT_EQ(Answer(kHermes, "A cairn is\n\n", "\na pile."), "content{\na pile.}");
  EXPECT_EQ(Answer(kHermes, "", "A pile."), "content{A pile.}");
  EXPECT_EQ(Answer(kHermes, "A cairn", ""), "");
}

TEST(PrefilledParser, ReasoningThatIsOpenGoesOn) {
  EXPECT_EQ(Answer(kHermes, "<think>\nStones, ", "piled.\n</think>\n\nA pile."),
            "reasoning{piled.} content{A pile.}");
  EXPECT_EQ(Answer(Format(CallFormat::kHermes, true), "Stones", ", piled.</think>A pile."),
            "reasoning{, piled.} content{A pile.}");
  EXPECT_EQ(Answer(kHermes, "<think>\nStones.\n</think>\n\n", "A pile."), "content{A pile.}");
}

TEST(PrefilledParser, ATagMayBeCutAnywhere) {
  const std::string text =
      "<think>Hm.</think>I look.<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
  const size_t call = text.find("<tool_call>");
  for (size_t cut = text.find("I look.") + 7; cut < text.size(); ++cut) {
    EXPECT_EQ(Answer(kHermes, text.substr(0, cut), text.substr(cut)), "call0{now {}}") << cut;
  }
  EXPECT_EQ(Answer(kHermes, text.substr(0, call + 5), "box"), "content{box}");
}

TEST(PrefilledParser, CallsAreCountedFromThoseTheClientGets) {
  const std::string call = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
  EXPECT_EQ(Answer(kHermes, call, "\nIt is noon."), "content{\nIt is noon.}");
  EXPECT_EQ(Answer(kHermes, call + "\nAnd", " again: " + call), "content{ again:} call0{now {}}");
}

TEST(PrefilledParser, HarmonysChannelsGoOn) {
  const AnswerFormat harmony = Format(CallFormat::kHarmony);
  EXPECT_EQ(Answer(harmony, "<|channel|>final<|message|>A cairn", " is a pile."),
            "content{ is a pile.}");
  EXPECT_EQ(Answer(harmony, "<|channel|>analysis<|message|>Stones",
                   ", piled.<|end|><|start|>assistant<|channel|>final<|message|>A pile."),
            "reasoning{, piled.} content{A pile.}");
}

}  // namespace
}  // namespace cairn::prefilled_parser_test
