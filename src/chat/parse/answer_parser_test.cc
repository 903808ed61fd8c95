#include "chat/parse/answer_parser.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "chat/template/builtin_templates.h"
#include "testing/chat/parsed_answer.h"
#include "testing/chat/test_templates.h"

namespace cairn::answer_parser_test {
namespace {

using test::AnswerCollector;
using test::Content;
using test::Format;
using test::Parse;
using test::ParsePushed;

// A call of `now` with the argument a=1, in the syntax of each family.
struct Family {
  CallFormat format;
  std::string call;
  std::string broken;   // text that begins like a call
  std::string unknown;  // a call of a tool that was not offered
};

const std::array<Family, 5>& TaggedFamilies() {
  static const std::array<Family, 5> families = {{
      {CallFormat::kHermes,
       "<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\": 1}}\n</tool_call>",
       "<tool_call>\n{\"name\": \"now\", \"argu",
       "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>"},
      {CallFormat::kQwenXml,
       "<tool_call>\n<function=now>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
       "<tool_call>\n<function=now>\n<parameter=a>\n1\n</par",
       "<tool_call><function=other></function></tool_call>"},
      {CallFormat::kLfm2, "<|tool_call_start|>[now(a=1)]<|tool_call_end|>",
       "<|tool_call_start|>[now(a=1", "<|tool_call_start|>[other()]<|tool_call_end|>"},
      {CallFormat::kMistral, "[TOOL_CALLS]now[ARGS]{\"a\": 1}", "[TOOL_CALLS]now[ARGS]{\"a\": 1",
       "[TOOL_CALLS]other[ARGS]{}"},
      {CallFormat::kGranite, "<|tool_call|>[{\"name\": \"now\", \"arguments\": {\"a\": 1}}]",
       "<|tool_call|>[{\"name\": \"now\"",
       "<|tool_call|>[{\"name\": \"other\", \"arguments\": {}}]"},
  }};
  return families;
}

constexpr char kCall0[] = "call0{now {\"a\": 1}}";
constexpr char kCall1[] = "call1{now {\"a\": 1}}";

TEST(AnswerParser, FindsCallsBetweenTextAndDropsTheWhiteSpaceBeforeThem) {
  for (const Family& family : TaggedFamilies()) {
    const AnswerFormat format = Format(family.format);
    EXPECT_EQ(Parse(format, family.call), kCall0);
    EXPECT_EQ(Parse(format, "I look.\n\n" + family.call + "\n" + family.call + "\n"),
              std::string("content{I look.} ") + kCall0 + " " + kCall1);
    EXPECT_EQ(Parse(format, family.call + "\nSo.\n" + family.call),
              std::string(kCall0) + " content{\nSo.} " + kCall1);
  }
}

TEST(AnswerParser, ReasoningStandsBeforeCallsAndHoldsNone) {
  for (const Family& family : TaggedFamilies()) {
    EXPECT_EQ(
        Parse(Format(family.format), "<think>\nhm " + family.call + "\n</think>\n\n" + family.call),
        "reasoning{hm " + family.call + "} " + kCall0);
    EXPECT_EQ(Parse(Format(family.format, true), "hm\n</think>\n\n" + family.call),
              std::string("reasoning{hm} ") + kCall0);
  }
}

TEST(AnswerParser, ACallThatBreaksOffOrThatNobodyOfferedIsTextByteForByte) {
  for (const Family& family : TaggedFamilies()) {
    const AnswerFormat format = Format(family.format);
    for (const std::string& text : {family.broken, family.unknown}) {
      EXPECT_EQ(Parse(format, text), Content(text));
      EXPECT_EQ(Parse(format, "A \n" + text), Content("A \n" + text));
    }
    EXPECT_EQ(Parse(format, family.unknown + " " + family.call),
              Content(family.unknown) + " " + kCall0);
    EXPECT_EQ(Parse(format, family.call + " " + family.broken),
              std::string(kCall0) + " " + Content(" " + family.broken));
  }
}

TEST(AnswerParser, LooksForNoCallsWhenNoToolsWereOffered) {
  for (const Family& family : TaggedFamilies()) {
    AnswerFormat format = Format(family.format);
    for (const char* tools : {"[]", R"([1,{"function":{}}])"}) {
      format.tools = Tools::Parse(tools).value();
      EXPECT_EQ(Parse(format, family.call + " \n"), Content(family.call + " \n"));
    }
  }
}

TEST(AnswerParser, WhiteSpaceOnlyIsStillAnAnswer) {
  EXPECT_EQ(Parse(Format(CallFormat::kHermes), " \n"), Content(" \n"));
  EXPECT_EQ(Parse(Format(CallFormat::kHermes), "yes\n"), Content("yes\n"));
  EXPECT_EQ(Parse(Format(CallFormat::kHermes), ""), "");
}

TEST(AnswerParser, TextThatIsNoTagComesAtOnce) {
  const auto parser = MakeAnswerParser(Format(CallFormat::kHermes));
  AnswerCollector collector;
  collector.Add(parser->Push("a < b <tool"));
  EXPECT_EQ(collector.Get().text, "content{a < b}");
  collector.Add(parser->Push("s> <tool_call> is"));
  EXPECT_EQ(collector.Get().text, "content{a < b <tools> <tool_call> is}");
}

TEST(AnswerParser, ACallComesWithItsLastByte) {
  for (const Family& family : TaggedFamilies()) {
    if (family.format == CallFormat::kGranite) continue;  // its closing tag may follow
    const auto parser = MakeAnswerParser(Format(family.format));
    const size_t last = family.call.size() - 1;
    EXPECT_TRUE(parser->Push(family.call.substr(0, last)).empty());
    EXPECT_EQ(parser->Push(family.call.substr(last)).size(), 2u);
  }
}

TEST(AnswerParser, AnArgumentOfAHundredKilobytesComesWhole) {
  const std::string code(100'000, 'x');
  std::vector<std::string> pushes = {"<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":\""};
  for (size_t at = 0; at < code.size(); at += 5) pushes.push_back(code.substr(at, 5));
  pushes.emplace_back("\"}}</tool_call>");
  EXPECT_EQ(ParsePushed(Format(CallFormat::kHermes), pushes).text,
            "call0{now {\"a\":\"" + code + "\"}}");
}

// Parts of the syntaxes of all families, in random order.
TEST(AnswerParser, GivesTheSameForEverySplitOfATextIntoPushes) {
  std::vector<std::string> atoms = {"<think>",
                                    "</think>",
                                    "\n",
                                    " ",
                                    "x",
                                    "<",
                                    "[",
                                    "]",
                                    "{",
                                    "}",
                                    "\"",
                                    "ä",
                                    "</tool_call>",
                                    "<|call|>",
                                    "<|end|>",
                                    "<|message|>",
                                    "<|start|>assistant",
                                    "<|channel|>final",
                                    " to=functions.now",
                                    "<|channel|>analysis",
                                    "<|python_tag|>",
                                    "[now(a=1)]",
                                    ";",
                                    "{\"name\":\"now\",\"parameters\":{}}",
                                    "</function>",
                                    "[ARGS]"};
  for (const Family& family : TaggedFamilies()) {
    atoms.insert(atoms.end(), {family.call, family.broken, family.unknown});
  }
  std::mt19937 random(5);
  for (int round = 0; round < 800; ++round) {
    std::string text;
    for (size_t n = random() % 10; n > 0; --n) text += atoms[random() % atoms.size()];
    std::vector<std::string> pushes(1);
    for (const char c : text) {
      pushes.back() += c;
      if (random() % 3 == 0) pushes.emplace_back();
    }
    for (const CallFormat calls :
         {CallFormat::kNone, CallFormat::kHermes, CallFormat::kQwenXml, CallFormat::kLfm2,
          CallFormat::kLlamaJson, CallFormat::kLlamaPythonic, CallFormat::kMistral,
          CallFormat::kGranite, CallFormat::kHarmony}) {
      const AnswerFormat format = Format(calls, round % 4 == 0);
      ASSERT_EQ(ParsePushed(format, pushes), ParsePushed(format, {text}))
          << text << " in format " << static_cast<int>(calls) << ", round " << round;
    }
  }
}

TEST(CallFormat, IsKnownByTheTemplatesTags) {
  const auto builtin = [](const char* name) { return DetectCallFormat(*BuiltinTemplate(name)); };
  EXPECT_EQ(builtin("chatml"), CallFormat::kHermes);
  EXPECT_EQ(builtin("qwen"), CallFormat::kHermes);
  EXPECT_EQ(builtin("llama3"), CallFormat::kLlamaJson);
  EXPECT_EQ(builtin("gemma"), CallFormat::kNone);
  EXPECT_EQ(DetectCallFormat(test::kOpenThink), CallFormat::kQwenXml);
  EXPECT_EQ(DetectCallFormat("<|start|>assistant<|channel|>final<|message|>"),
            CallFormat::kHarmony);
  EXPECT_EQ(DetectCallFormat("List of tools: <|tool_list_start|>["), CallFormat::kLfm2);
  EXPECT_EQ(DetectCallFormat("[AVAILABLE_TOOLS] … [TOOL_CALLS]"), CallFormat::kMistral);
  EXPECT_EQ(DetectCallFormat("<|tool_call|> <tool_call>"), CallFormat::kGranite);
  EXPECT_EQ(DetectCallFormat("<|python_tag|>"), CallFormat::kLlamaJson);
  EXPECT_EQ(DetectCallFormat("[func_name1(params_name1=params_value1)]"),
            CallFormat::kLlamaPythonic);
  EXPECT_EQ(DetectCallFormat("{{ messages }}"), CallFormat::kNone);
}

TEST(AnswerFormat, KnowsWhatTheGenerationPromptOpened) {
  const auto starts = [](const char* source, const char* prompt) {
    const auto chat_template = test::Parsed(source);
    return FindAnswerFormat(*chat_template, prompt, {}).starts_in_reasoning;
  };
  EXPECT_TRUE(starts("", "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(starts("", "<|im_start|>assistant\n"));
  const char* const harmony = "<|channel|><|message|>";
  EXPECT_TRUE(starts(harmony, "<|start|>assistant<|channel|>analysis<|message|>"));
  EXPECT_FALSE(starts(harmony, "<|start|>assistant<|channel|>final<|message|>"));
  EXPECT_FALSE(starts(harmony, "<|start|>assistant"));
}

TEST(AnswerFormat, NamesTheTagsThatMayBeControlTokens) {
  EXPECT_EQ(TagsOf({.calls = CallFormat::kMistral}),
            (std::vector<std::string>{"<think>", "</think>"}));
  EXPECT_EQ(
      TagsOf(Format(CallFormat::kMistral)),
      (std::vector<std::string>{"<think>", "</think>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}));
  EXPECT_EQ(TagsOf({.calls = CallFormat::kHarmony}).size(), 7u);
}

}  // namespace
}  // namespace cairn::answer_parser_test
