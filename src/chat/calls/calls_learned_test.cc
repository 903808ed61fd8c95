// Tests how calls in learned syntaxes are parsed: variations that models write, arguments while
// they are generated, and calls that end early.

#include <gtest/gtest.h>

#include "chat/parse/prefilled_parser.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/parsed_answer.h"

namespace cairn::calls_learned_test {
namespace {

using test::AnswerCollector;
using test::Content;
using test::Parse;

AnswerFormat FormatOf(const std::string& family, bool stream = false) {
  AnswerFormat format =
      FindAnswerFormat(*test::Family(family), "", Tools::Parse(test::kTools).value());
  EXPECT_EQ(format.calls, CallFormat::kLearned) << family;
  format.stream_arguments = stream;
  return format;
}

// Parses the text at once and in parts; a complete call must give the same result.
std::string ParseIn(const std::string& family, const std::string& text) {
  std::string whole = Parse(FormatOf(family), text);
  EXPECT_EQ(Parse(FormatOf(family, true), text), whole) << text;
  return whole;
}

std::string Streamed(const std::string& family, const std::string& text) {
  return Parse(FormatOf(family, true), text);
}

// Returns everything emitted when all of the text has arrived, before Finish.
std::string SoFar(const std::string& family, const std::string& text) {
  const auto parser = MakeAnswerParser(FormatOf(family, true));
  AnswerCollector collector;
  for (const char c : text) collector.Add(parser->Push(std::string(1, c)));
  return collector.Get().text;
}

size_t BrokenCalls(const std::string& family, const std::string& text, bool stream) {
  const auto parser = MakeAnswerParser(FormatOf(family, stream));
  parser->Push(text);
  parser->Finish();
  return parser->broken_calls();
}

TEST(LearnedCalls, AreReadInEveryForm) {
  EXPECT_EQ(ParseIn("qwen3",
                    "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": "
                    "{\"city\": \"Rome\"}}\n</tool_call>\n<tool_call>\n{\"name\": "
                    "\"now\", \"arguments\": {}}\n</tool_call>"),
            "content{I look.} call0{weather {\"city\": \"Rome\"}} call1{now {}}");
  EXPECT_EQ(ParseIn("falcon-h1",
                    "<tool_call>\n[{\"name\": \"weather\", \"arguments\": {\"days\": "
                    "2}}, {\"name\": \"now\", \"arguments\": {}}]\n</tool_call>"),
            "call0{weather {\"days\": 2}} call1{now {}}");
  EXPECT_EQ(ParseIn("deepseek-v3",
                    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": "
                    "\"Rome\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}"
                    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            "call0{weather {\"city\": \"Rome\"}} call1{now {}}");
  EXPECT_EQ(ParseIn("kimi-k2",
                    "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
                    "<|tool_call_argument_begin|>{\"city\": \"Rome\"}<|tool_call_end|>"
                    "<|tool_call_begin|>now:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
                    "<|tool_calls_section_end|>"),
            "call0{weather {\"city\": \"Rome\"}} call1{now {}}");
  EXPECT_EQ(ParseIn("glm-4.5",
                    "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome"
                    "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n"
                    "</tool_call>\n<tool_call>now\n</tool_call>"),
            "call0{weather {\"city\": \"Rome\", \"days\": 2}} call1{now {}}");
  EXPECT_EQ(ParseIn("gemma4",
                    "<|tool_call>call:weather{city:<|\"|>Ro,}me<|\"|>,list:[1,<|\"|>a"
                    "<|\"|>],where:{x:<|\"|>y<|\"|>,z:null}}<tool_call|>"),
            "call0{weather {\"city\": \"Ro,}me\", \"list\": [1, \"a\"], \"where\": "
            "{\"x\": \"y\", \"z\": null}}}");
  EXPECT_EQ(ParseIn("mistral-v3",
                    "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}, \"id\": "
                    "\"abcdefghi\"}]"),
            "call0{now {}}");
  EXPECT_EQ(ParseIn("mistral-small", "[TOOL_CALLS]now[ARGS]{\"a\": 1} ok"),
            "call0{now {\"a\": 1}} content{ ok}");
}

TEST(LearnedCalls, MayDifferFromTheTemplateInWhiteSpaceMembersAndOuterTags) {
  EXPECT_EQ(ParseIn("qwen3", "<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":1}}</tool_call>"),
            "call0{now {\"a\":1}}");
  EXPECT_EQ(
      ParseIn("qwen3", "<tool_call>{\"arguments\":{},\"x\":[{}],\"name\":\"now\"}</tool_call>"),
      "call0{now {}}");
  EXPECT_EQ(ParseIn("qwen3", R"(<tool_call>{"name":"now","arguments":"{\"a\":1}"}</tool_call>)"),
            "call0{now {\"a\":1}}");
  EXPECT_EQ(ParseIn("qwen3-coder",
                    "<function=weather>\n<parameter=city>\nRome\n</parameter>\n"
                    "</function>"),
            "call0{weather {\"city\": \"Rome\"}}");
  EXPECT_EQ(ParseIn("qwen3-coder", "<tool_call><function=now></function> Done."),
            "call0{now {}} content{ Done.}");
  EXPECT_EQ(ParseIn("deepseek-v3", "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜>"),
            "call0{now {}}");
}

TEST(LearnedCalls, NeedNoClosingTagsOnceTheirArgumentsAreWhole) {
  EXPECT_EQ(ParseIn("qwen3", R"(<tool_call>{"name":"now","arguments":{}})"), "call0{now {}}");
  EXPECT_EQ(ParseIn("qwen3", R"(<tool_call>{"name":"now","arguments":{}}</tool)"), "call0{now {}}");
  EXPECT_EQ(ParseIn("qwen3", R"(<tool_call>{"name":"now","arguments":{}} and more)"),
            "call0{now {}} content{ and more}");
  EXPECT_EQ(
      ParseIn("deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}"),
      "call0{now {}}");
}

TEST(LearnedCalls, ComeWithTheTagThatClosesThem) {
  const auto parser = MakeAnswerParser(FormatOf("qwen3"));
  EXPECT_TRUE(parser->Push(R"(<tool_call>{"name":"now","arguments":{}}</tool_call)").empty());
  EXPECT_EQ(parser->Push(">").size(), 2u);
  // Also where the text before was sent by the client.
  const auto prefilled =
      MakePrefilledParser(FormatOf("qwen3"), R"(<tool_call>{"name":"now","arguments":{}}</tool_)");
  AnswerCollector collector;
  collector.Add(prefilled->Push("call>"));
  EXPECT_EQ(collector.Get().text, "call0{now {}}");
}

TEST(LearnedCalls, AParameterWrittenTwiceCountsAsItsLast) {
  const std::string text =
      "<tool_call><function=weather><parameter=days>\n1\n</parameter><parameter=city>\nRome\n"
      "</parameter><parameter=days>\n2\n</parameter></function></tool_call>";
  EXPECT_EQ(Parse(FormatOf("qwen3-coder"), text), R"(call0{weather {"city": "Rome", "days": 2}})");
  // What was told already stays, and readers of JSON use the last one.
  EXPECT_EQ(Streamed("qwen3-coder", text),
            R"(call0{weather {"days": 1, "city": "Rome", "days": 2}})");
}

TEST(LearnedCalls, ValuesAreWhatTheSchemaSays) {
  EXPECT_EQ(ParseIn("qwen3-coder",
                    "<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n"
                    "<parameter=days>\n12\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n"
                    "<parameter=maybe>\nnull\n</parameter>\n<parameter=where>\n{\"a\": [1]}\n"
                    "</parameter>\n<parameter=list>\n['x', 2]\n</parameter>\n</function>\n"
                    "</tool_call>"),
            "call0{weather {\"city\": \"12\", \"days\": 12, \"exact\": true, \"maybe\": null, "
            "\"where\": {\"a\": [1]}, \"list\": [\"x\", 2]}}");
  EXPECT_EQ(ParseIn("qwen3-coder",
                    "<tool_call>\n<function=weather>\n<parameter=city>\n\n  \"ä\"\n\\n"
                    "</parameter> <b>\n\n</parameter>\n</function>\n</tool_call>"),
            "call0{weather {\"city\": \"\\n  \\\"ä\\\"\\n\\\\n</parameter> <b>\\n\"}}");
}

// Nothing was emitted before it was certain.
TEST(LearnedCalls, WhatIsNoCallIsTextByteForByte) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"qwen3", "<tool_call>"},
      {"qwen3", "<tool_call> is a tag"},
      {"qwen3", R"(<tool_call>{"name":"other","arguments":{}}</tool_call>)"},
      {"qwen3", R"(<tool_call>{"name":"weather","city":"Rome"}</tool_call>)"},
      {"qwen3", R"(<tool_call>{"name":"now","arguments":[]}</tool_call>)"},
      {"qwen3", R"(<tool_call>{"name":"now","arguments":"x"}</tool_call>)"},
      {"qwen3", R"(<tool_call>{"name":"now","argu)"},
      {"qwen3-coder", "<tool_call><function=other></function></tool_call>"},
      {"qwen3-coder", "<tool_call><function=now>words</function></tool_call>"},
      {"qwen3-coder", "<function=now"},
      {"glm-4.5", "<tool_call>nowhere\n</tool_call>"},
      {"glm-4.5", "<tool_call>now is the time</tool_call>"},
      {"kimi-k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.other:0"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
      {"mistral-small", "[TOOL_CALLS]now[ARGS][]"},
      {"gemma4", "<|tool_call>call:now[]<tool_call|>"},
  };
  for (const auto& [family, text] : texts) {
    EXPECT_EQ(ParseIn(family, text), Content(text)) << family;
    for (const bool stream : {false, true}) {
      EXPECT_GE(BrokenCalls(family, text, stream), 1u) << family << ": " << text;
    }
  }
}

TEST(LearnedCalls, ACallThatIsBrokenIsTextBesideOneThatIsNot) {
  const std::string good = R"(<tool_call>{"name":"now","arguments":{}}</tool_call>)";
  const std::string bad = R"(<tool_call>{"name":"now","arguments":{]}}</tool_call>)";
  EXPECT_EQ(Parse(FormatOf("qwen3"), bad + good), Content(bad) + " call0{now {}}");
  EXPECT_EQ(Parse(FormatOf("qwen3"), good + bad), "call0{now {}} " + Content(bad));
  EXPECT_EQ(ParseIn("falcon-h1",
                    "<tool_call>[{\"name\":\"now\",\"arguments\":{}}, "
                    "{\"name\":\"other\",\"arguments\":{}}]</tool_call>"),
            "call0{now {}} content{, {\"name\":\"other\",\"arguments\":{}}]</tool_call>}");
}

TEST(LearnedCalls, ArgumentsComeWhileTheyAreWritten) {
  EXPECT_EQ(SoFar("qwen3", "<tool_call>\n{\"name\": \"weather\", \"argum"), "");
  EXPECT_EQ(SoFar("qwen3", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {"),
            "call0{weather {}");
  EXPECT_EQ(SoFar("qwen3", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Ro"),
            "call0{weather {\"city\": \"Ro}");
  EXPECT_EQ(SoFar("mistral-small", "[TOOL_CALLS]weather[ARGS]{\"city\""),
            "call0{weather {\"city\"}");
  EXPECT_EQ(SoFar("kimi-k2",
                  "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
                  "<|tool_call_argument_begin|>{\"city\": \"R"),
            "call0{weather {\"city\": \"R}");
  // A string is emitted as it arrives, except for what may begin its end; a number when it has
  // ended.
  EXPECT_EQ(SoFar("qwen3-coder", "<tool_call>\n<function=weather>\n<parameter=city>\nRo"),
            "call0{weather {\"city\": \"Ro}");
  EXPECT_EQ(SoFar("qwen3-coder", "<tool_call>\n<function=weather>\n<parameter=city>\nRo\n</para"),
            "call0{weather {\"city\": \"Ro}");
  EXPECT_EQ(SoFar("qwen3-coder", "<tool_call>\n<function=weather>\n<parameter=city>\nRo\n</p>"),
            "call0{weather {\"city\": \"Ro\\n</p>}");
  EXPECT_EQ(SoFar("glm-4.5", "<tool_call>weather\n<arg_key>days</arg_key>\n<arg_value>1"),
            "call0{weather {\"days\": }");
  EXPECT_EQ(SoFar("gemma4", "<|tool_call>call:weather{city:<|\"|>Ro\"m"),
            "call0{weather {\"city\": \"Ro\\\"m}");
}

TEST(LearnedCalls, ACallThatBreaksOffIsTextUnlessItWasBegun) {
  const std::string json = R"(<tool_call>{"name":"weather","arguments":{"city":"Ro)";
  EXPECT_EQ(Parse(FormatOf("qwen3"), json), Content(json));
  EXPECT_EQ(Streamed("qwen3", json), R"(call0{weather {"city":"Ro})");
  EXPECT_EQ(BrokenCalls("qwen3", json, true), 1u);
  const std::string pairs =
      "<tool_call>\n<function=weather>\n<parameter=days>\n2\n</"
      "parameter>\n<parameter=city>\nRo\n</";
  EXPECT_EQ(Parse(FormatOf("qwen3-coder"), pairs), Content(pairs));
  EXPECT_EQ(Streamed("qwen3-coder", pairs), R"(call0{weather {"days": 2, "city": "Ro})");
  EXPECT_EQ(BrokenCalls("qwen3-coder", pairs, true), 1u);
}

TEST(LearnedCalls, ArgumentsThatAreNoneEndWhereTheyGoWrong) {
  const std::string text =
      "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":Rome}}</tool_call>";
  EXPECT_EQ(Parse(FormatOf("qwen3"), text), Content(text));
  EXPECT_EQ(Streamed("qwen3", text), "call0{weather {\"city\":} content{Rome}}</tool_call>}");
  EXPECT_EQ(BrokenCalls("qwen3", text, true), 1u);
}

TEST(LearnedCalls, ADeepOrEndlessObjectIsNone) {
  const std::string deep =
      "<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":" + std::string(80, '[') +
      std::string(80, ']') + "}}</tool_call>";
  EXPECT_EQ(Parse(FormatOf("qwen3"), deep), Content(deep));
  std::string many = "<tool_call>{\"name\":\"now\",\"arguments\":{\"k0\":0";
  for (int i = 1; i < 1100; ++i) many += ",\"k" + std::to_string(i) + "\":0";
  many += "}}</tool_call>";
  AnswerCollector collector;
  const auto parser = MakeAnswerParser(FormatOf("qwen3"));
  collector.Add(parser->Push(many));
  collector.Add(parser->Finish());
  EXPECT_EQ(collector.Get().text, Content(many));
}

TEST(LearnedCalls, AnArgumentOfAHundredKilobytesIsReadOnce) {
  for (const std::string family : {"qwen3", "qwen3-coder"}) {
    const bool json = family == "qwen3";
    const auto parser = MakeAnswerParser(FormatOf(family, true));
    AnswerCollector collector;
    collector.Add(parser->Push(json ? R"(<tool_call>{"name":"weather","arguments":{"city":")"
                                    : "<tool_call><function=weather><parameter=city>"));
    for (size_t i = 0; i < 20'000; ++i) collector.Add(parser->Push("a </b"));
    collector.Add(parser->Push(json ? "\"}}</tool_call>" : "</parameter></function></tool_call>"));
    collector.Add(parser->Finish());
    EXPECT_EQ(collector.Get().text.size(),
              100'000 + std::string(json ? R"(call0{weather {"city":""}})"
                                         : R"(call0{weather {"city": ""}})")
                            .size());
  }
}

TEST(LearnedCalls, GiveTheIdThatTheModelGave) {
  const auto parser = MakeAnswerParser(FormatOf("kimi-k2"));
  const auto pieces = parser->Push(
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:3"
      "<|tool_call_argument_begin|>{}<|tool_call_end|>");
  ASSERT_FALSE(pieces.empty());
  EXPECT_EQ(pieces[0].id, "functions.now:3");
}

TEST(LearnedCalls, NameTheTagsThatMayBeControlTokens) {
  EXPECT_EQ(TagsOf(FormatOf("kimi-k2")),
            (std::vector<std::string>{"<think>", "</think>", "<|tool_calls_section_begin|>",
                                      "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
                                      "<|tool_call_end|>", "<|tool_calls_section_end|>"}));
  EXPECT_EQ(TagsOf(FormatOf("gemma4")),
            (std::vector<std::string>{"<|channel>thought", "<|channel>", "<channel|>",
                                      "<|tool_call>", "<|\"|>", "<tool_call|>"}));
}

TEST(Harmony, ArgumentsComeWhileTheyAreWritten) {
  AnswerFormat format = test::Format(CallFormat::kHarmony);
  format.stream_arguments = true;
  const auto parser = MakeAnswerParser(format);
  AnswerCollector collector;
  const std::string call =
      "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"Ro";
  for (const char c : call) collector.Add(parser->Push(std::string(1, c)));
  EXPECT_EQ(collector.Get().text, "call0{weather {\"city\": \"Ro}");
  EXPECT_EQ(Parse(format, call + "me\"}<|call|>"), "call0{weather {\"city\": \"Rome\"}}");
  EXPECT_EQ(Parse(format, call), "call0{weather {\"city\": \"Ro}");
  EXPECT_EQ(Parse(format, call + "\" me}<|call|>"),
            "call0{weather {\"city\": \"Ro\" } content{me}}");
  const std::string other = "<|channel|>commentary to=functions.other<|message|>{}<|call|>";
  EXPECT_EQ(Parse(format, other), Content(other));
}

}  // namespace
}  // namespace cairn::calls_learned_test
