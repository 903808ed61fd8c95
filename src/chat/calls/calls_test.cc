// Tests how each family writes calls, and which texts are not calls. Properties of all families are
// in answer_parser_test.cc.

#include <gtest/gtest.h>

#include "testing/chat/parsed_answer.h"

namespace cairn::calls_test {
namespace {

using test::Content;
using test::Format;
using test::Parse;

std::string Hermes(const std::string& text) {
  return Parse(Format(CallFormat::kHermes), text);
}
std::string Xml(const std::string& text) {
  return Parse(Format(CallFormat::kQwenXml), text);
}
std::string Lfm2(const std::string& text) {
  return Parse(Format(CallFormat::kLfm2), text);
}
std::string LlamaJson(const std::string& text) {
  return Parse(Format(CallFormat::kLlamaJson), text);
}
std::string LlamaPythonic(const std::string& text) {
  return Parse(Format(CallFormat::kLlamaPythonic), text);
}
std::string Mistral(const std::string& text) {
  return Parse(Format(CallFormat::kMistral), text);
}
std::string Granite(const std::string& text) {
  return Parse(Format(CallFormat::kGranite), text);
}
std::string Harmony(const std::string& text) {
  return Parse(Format(CallFormat::kHarmony), text);
}

TEST(HermesCalls, ArgumentsStayAsTheModelWroteThem) {
  EXPECT_EQ(Hermes("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"share\": 1.50, "
                   "\"where\": {\"a\":[1,{\"b\":\"}]\"}]}, \"city\": \"\\\"R\\u00f6m\\\"\\nß\"}}\n"
                   "</tool_call>"),
            "call0{weather {\"share\": 1.50, \"where\": {\"a\":[1,{\"b\":\"}]\"}]}, "
            "\"city\": \"\\\"R\\u00f6m\\\"\\nß\"}}");
}

TEST(HermesCalls, MayHaveTheirMembersInAnyOrderAndArgumentsAsAText) {
  EXPECT_EQ(Hermes(R"(<tool_call>{"arguments":{},"id":[1,"x"],"name":"now"}</tool_call>)"),
            "call0{now {}}");
  EXPECT_EQ(Hermes(R"(<tool_call>{"name":"now","arguments":"{\"a\":1}"}</tool_call>)"),
            "call0{now {\"a\":1}}");
}

TEST(HermesCalls, MayHoldTheirOwnTagsInAString) {
  EXPECT_EQ(
      Hermes(
          R"(<tool_call>{"name":"now","arguments":{"a":"</tool_call><tool_call>"}}</tool_call>)"),
      R"(call0{now {"a":"</tool_call><tool_call>"}})");
}

TEST(HermesCalls, NeedTheirClosingTagUnlessTheAnswerEnds) {
  EXPECT_EQ(Hermes(R"(<tool_call>{"name":"now","arguments":{}})"), "call0{now {}}");
  EXPECT_EQ(Hermes(R"(<tool_call>{"name":"now","arguments":{}}</tool)"), "call0{now {}}");
  const std::string gone_on = R"(<tool_call>{"name":"now","arguments":{}} and more)";
  EXPECT_EQ(Hermes(gone_on), Content(gone_on));
}

TEST(HermesCalls, WhatIsNoCallIsTextAndTheNextOneStillCounts) {
  for (const std::string text :
       {"<tool_call>", "<tool_call> is a tag", R"(<tool_call>{"name":"now"}</tool_call>)",
        R"(<tool_call>{"name":1,"arguments":{}}</tool_call>)",
        R"(<tool_call>{"name":"now","arguments":[]}</tool_call>)",
        R"(<tool_call>{"name":"now","arguments":{}]</tool_call>)",
        "<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":\"\n\"}}</tool_call>",
        R"(<tool_call>[]</tool_call>)", R"(<tool_call>{"name":"now",}</tool_call>)"}) {
    EXPECT_EQ(Hermes(text), Content(text));
    EXPECT_EQ(Hermes(text + "<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>"),
              Content(text) + " call0{now {}}");
  }
}

TEST(HermesCalls, NestedTooDeepAreText) {
  const std::string deep =
      "<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":" + std::string(80, '[') +
      std::string(80, ']') + "}}</tool_call>";
  EXPECT_EQ(Hermes(deep), Content(deep));
}

TEST(QwenXmlCalls, ValuesAreWhatTheSchemaSays) {
  EXPECT_EQ(Xml("<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n"
                "<parameter=days>\n12\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n"
                "<parameter=share>\n1.50\n</parameter>\n"
                "<parameter=where>\n{\"a\": [1]}\n</parameter>\n"
                "<parameter=list>\n['x', 2]\n</parameter>\n</function>\n</tool_call>"),
            "call0{weather {\"city\": \"12\", \"days\": 12, \"exact\": true, \"share\": 1.50, "
            "\"where\": {\"a\": [1]}, \"list\": [\"x\", 2]}}");
  EXPECT_EQ(Xml("<tool_call><function=weather><parameter=maybe>null</parameter>"
                "<parameter=either>12</parameter><parameter=unit>1</parameter>"
                "<parameter=id>7</parameter><parameter=unknown>3</parameter>"
                "<parameter=other>so so</parameter></function></tool_call>"),
            "call0{weather {\"maybe\": null, \"either\": \"12\", \"unit\": \"1\", \"id\": 7, "
            "\"unknown\": 3, \"other\": \"so so\"}}");
}

TEST(QwenXmlCalls, AValueThatFitsNoTypeIsAString) {
  EXPECT_EQ(Xml("<tool_call><function=weather><parameter=days>two</parameter>"
                "<parameter=where>{oops</parameter></function></tool_call>"),
            "call0{weather {\"days\": \"two\", \"where\": \"{oops\"}}");
  // An unescaped zero byte would make the arguments invalid JSON.
  EXPECT_EQ(Xml(std::string("<tool_call><function=weather><parameter=days>2") + '\0' +
                "</parameter></function></tool_call>"),
            "call0{weather {\"days\": \"2\\u0000\"}}");
}

TEST(QwenXmlCalls, ValuesKeepTheirLinesQuotesAndMarkup) {
  EXPECT_EQ(Xml("<tool_call>\n<function=weather>\n<parameter=city>\n\n  \"ä\"\n\\n</parameter> "
                "<b>\n\n</parameter>\n</function>\n</tool_call>"),
            "call0{weather {\"city\": \"\\n  \\\"ä\\\"\\n\\\\n</parameter> <b>\\n\"}}");
}

TEST(QwenXmlCalls, MayLackOuterTagsOrParameters) {
  EXPECT_EQ(Xml("<function=now>\n</function>"), "call0{now {}}");
  EXPECT_EQ(Xml("<tool_call>\n<function=now>\n</function>\n"), "call0{now {}}");
  EXPECT_EQ(Xml("<tool_call><function=now></function> Done."), "call0{now {}} content{ Done.}");
}

TEST(QwenXmlCalls, AParameterWrittenTwiceCountsAsItsLast) {
  EXPECT_EQ(Xml("<tool_call><function=weather><parameter=days>1</parameter><parameter=days>2"
                "</parameter></function></tool_call>"),
            "call0{weather {\"days\": 2}}");
}

TEST(QwenXmlCalls, WhatIsNoCallIsText) {
  for (const std::string text :
       {"<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>", "<tool_call><function=>",
        "<tool_call><function=now>words</function></tool_call>",
        "<tool_call><function=weather><parameter=city>Rome</function></tool_call>",
        "<tool_call><function=other></function></tool_call>", "<function=now",
        "<tool_call>\n<function=weather>\n<parameter=city>\nRo"}) {
    EXPECT_EQ(Xml(text), Content(text));
  }
}

TEST(Lfm2Calls, HoldLiteralsOfEveryKind) {
  EXPECT_EQ(
      Lfm2("<|tool_call_start|>[weather(city='it\\'s \"R\"\\n\\u00e4\\x41', days=-2, "
           "share=1.5e3, exact=True, where={'a': [1, None, \"x\"], \"b\": {}}, list=[False,])]"
           "<|tool_call_end|>"),
      "call0{weather {\"city\": \"it's \\\"R\\\"\\näA\", \"days\": -2, \"share\": 1.5e3, "
      "\"exact\": true, \"where\": {\"a\": [1, null, \"x\"], \"b\": {}}, \"list\": [false]}}");
}

TEST(Lfm2Calls, MayBeSeveralInOneListOrJson) {
  EXPECT_EQ(Lfm2("<|tool_call_start|>[now(), weather( city = \"Rome\" ) ]<|tool_call_end|>Wait."),
            "call0{now {}} call1{weather {\"city\": \"Rome\"}} content{Wait.}");
  EXPECT_EQ(Lfm2(R"(<|tool_call_start|>[{"name":"now","arguments":{}}]<|tool_call_end|>)"),
            "call0{now {}}");
}

TEST(Lfm2Calls, WhatIsNoCallIsText) {
  for (const std::string text :
       {"<|tool_call_start|>[now(1)]<|tool_call_end|>", "<|tool_call_start|>now()<|tool_call_end|>",
        "<|tool_call_start|>[]<|tool_call_end|>", "<|tool_call_start|>[now(a=b)]<|tool_call_end|>",
        "<|tool_call_start|>[now(a=1, a=2)]<|tool_call_end|>",
        "<|tool_call_start|>[now(a=1.)]<|tool_call_end|>",
        "<|tool_call_start|>[now(a='\\ud800')]<|tool_call_end|>",
        "<|tool_call_start|>[now(a={1: 2})]<|tool_call_end|>",
        "<|tool_call_start|>[now(), other()]<|tool_call_end|>", "<|tool_call_start|>[now(a=\"x"}) {
    EXPECT_EQ(Lfm2(text), Content(text));
  }
  const std::string deep = "<|tool_call_start|>[now(a=" + std::string(80, '[') +
                           std::string(80, ']') + ")]<|tool_call_end|>";
  EXPECT_EQ(Lfm2(deep), Content(deep));
}

TEST(LlamaPythonicCalls, AreTheWholeAnswerOrText) {
  EXPECT_EQ(LlamaPythonic(" [now(), weather(city=\"]\")]\n"),
            "call0{now {}} call1{weather {\"city\": \"]\"}}");
  for (const std::string text : {"[now()] it is", "So [now()]", "[1, 2]", "[now()", "[other()]"}) {
    EXPECT_EQ(LlamaPythonic(text), Content(text));
  }
}

TEST(LlamaJsonCalls, AreTheWholeAnswer) {
  EXPECT_EQ(LlamaJson("\n{\"name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}}\n"),
            "call0{weather {\"city\": \"Rome\"}}");
  EXPECT_EQ(LlamaJson(R"({"name":"now","parameters":{}}; {"name":"now","parameters":{"a":1}})"),
            "call0{now {}} call1{now {\"a\":1}}");
  for (const std::string text :
       {R"({"name":"now","parameters":{}} is it)", R"(It is {"name":"now","parameters":{}})",
        R"({"name":"other","parameters":{}})", R"({"name":"now"})", R"({"a":)", "{", "{}"}) {
    EXPECT_EQ(LlamaJson(text), Content(text));
  }
}

TEST(LlamaJsonCalls, MayStandBehindATag) {
  EXPECT_EQ(LlamaJson(R"(I look. <|python_tag|>{"name":"now","parameters":{}})"),
            "content{I look.} call0{now {}}");
  EXPECT_EQ(
      LlamaJson(R"(<|python_tag|>{"name":"now","parameters":{}}{"name":"now","parameters":{}} x)"),
      "call0{now {}} call1{now {}} content{ x}");
  EXPECT_EQ(LlamaJson("<|python_tag|>print(1)"), Content("<|python_tag|>print(1)"));
}

TEST(MistralCalls, OfBothFormsAreFound) {
  EXPECT_EQ(Mistral("I look.[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": "
                    "{\"city\": \"[\\\"]\"}, \"id\": \"a1b2c3d4e\"}, "
                    "{\"name\":\"now\",\"arguments\":{}}]"),
            "content{I look.} call0{weather {\"city\": \"[\\\"]\"}} call1{now {}}");
  EXPECT_EQ(Mistral("[TOOL_CALLS]weather[ARGS]{\"city\": \"Rome\"}[TOOL_CALLS]now[ARGS]{} ok"),
            "call0{weather {\"city\": \"Rome\"}} call1{now {}} content{ ok}");
  EXPECT_EQ(Mistral("[TOOL_CALLS]now[CALL_ID]a1b2c3d4e[ARGS]{}"), "call0{now {}}");
}

TEST(MistralCalls, WhatIsNoCallIsText) {
  for (const std::string text :
       {"[TOOL_CALLS] is a tag", "[TOOL_CALLS]", "[TOOL_CALLS]other[ARGS]{}",
        "[TOOL_CALLS]now[ARGS][]", "[TOOL_CALLS]now[ARGS]{\"a\":", "[TOOL_CALLS]now[ARGS]{a}",
        "[TOOL_CALLS][{\"name\":\"now\"", "[TOOL_CALLS][ARGS]{}", "[TOOL_CALLS]now[CALL_ID]x"}) {
    EXPECT_EQ(Mistral(text), Content(text));
  }
}

TEST(GraniteCalls, AreAListBehindATag) {
  EXPECT_EQ(Granite("<|tool_call|>[{\"name\":\"now\",\"arguments\":{}},"
                    "{\"name\":\"weather\",\"arguments\":{\"city\":\"Rome\"}}]"),
            "call0{now {}} call1{weather {\"city\":\"Rome\"}}");
  EXPECT_EQ(Granite("A<|tool_call|> {\"name\":\"now\",\"arguments\":{}}<|/tool_call|>B"),
            "content{A} call0{now {}} content{B}");
  for (const std::string text :
       {"<|tool_call|>", "<|tool_call|>no", "<|tool_call|>[{\"name\":\"now\",\"arg",
        "<|tool_call|>[{\"name\":\"other\",\"arguments\":{}}]", "<|tool_call|>[1]"}) {
    EXPECT_EQ(Granite(text), Content(text));
  }
}

std::string MiniMax(std::string text) {
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) {
    text.replace(at, 1, "]<]minimax[>[");
  }
  return Parse(Format(CallFormat::kMiniMaxM3), text);
}

TEST(MiniMaxCalls, AreElementsAllTheWayDown) {
  EXPECT_EQ(
      MiniMax("I look.@<tool_call>\n@<invoke name=\"weather\">@<city>12@</city>@<days>2@</days>"
              "@<list>@<item>1@</item>@<item>x@</item>@</list>"
              "@<where>@<a b>1@</a b>@<c>@<item>@<d>e@</d>@</item>@</c>@</where>@</invoke>\n"
              "@<invoke name=\"now\">@</invoke>\n@</tool_call>"),
      "content{I look.} call0{weather {\"city\": \"12\", \"days\": 2, \"list\": [1, \"x\"], "
      "\"where\": {\"a b\": 1, \"c\": [{\"d\": \"e\"}]}}} call1{now {}}");
  EXPECT_EQ(MiniMax("@<tool_call>@<invoke name=\"weather\">@<city>a\n<b>@</city>@<list>@</list>"
                    "@</invoke>"),
            "call0{weather {\"city\": \"a\\n<b>\", \"list\": []}}");
}

TEST(MiniMaxCalls, WhatIsNoCallIsText) {
  for (const std::string text :
       {"<tool_call>", "]<]minimax[>[<tool_call> is a tag",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"other\">]<]minimax[>[</invoke>",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</city>",
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Ro"}) {
    EXPECT_EQ(MiniMax(text), Content(text));
  }
}

TEST(Harmony, ChannelsAreReasoningContentAndCalls) {
  EXPECT_EQ(Harmony("<|channel|>analysis<|message|>Weather.\nLook.<|end|><|start|>assistant"
                    "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>"
                    "commentary to=functions.weather <|constrain|>json<|message|>"
                    "{\"city\":\"Röm\\n\"}<|call|>"),
            "reasoning{Weather.\nLook.} content{I look.} call0{weather {\"city\":\"Röm\\n\"}}");
  EXPECT_EQ(Harmony("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final"
                    "<|message|>b < c <| d<|return|>"),
            "reasoning{a} content{b < c <| d}");
}

TEST(Harmony, ACallEndsWithTheAnswerBecauseItsTagIsNotSent) {
  EXPECT_EQ(Harmony("<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}"),
            "call0{now {}}");
}

TEST(Harmony, TakesTheReceiverFromEitherPlaceAndCallsInARow) {
  EXPECT_EQ(Harmony("<|start|>assistant to=functions.now<|channel|>commentary json<|message|>{}"
                    "<|call|><|start|>assistant<|channel|>analysis to=now<|message|>{\"a\":1}"
                    "<|call|>"),
            "call0{now {}} call1{now {\"a\":1}}");
}

TEST(Harmony, AnAnswerMayBeginWithTheReceiverOfItsCall) {
  EXPECT_EQ(Harmony(" to=functions.now<|channel|>commentary json<|message|>{\"a\":1}<|call|>"),
            "call0{now {\"a\":1}}");
  EXPECT_EQ(Harmony(" to be or not"), Content(" to be or not"));
  EXPECT_EQ(Harmony(" to=nobody"), Content(" to=nobody"));
}

TEST(Harmony, ACallThatIsNoneIsTextAsWritten) {
  for (const std::string text :
       {"<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"Ro",
        "<|channel|>commentary to=functions.other <|constrain|>json<|message|>{}<|call|>",
        "<|channel|>commentary to=functions.now<|message|>now please<|call|>",
        "<|channel|>commentary to=functions.no"}) {
    EXPECT_EQ(Harmony(text), Content(text));
  }
}

TEST(Harmony, NoOtherTagIsEverContent) {
  EXPECT_EQ(Harmony("<|channel|>analysis<|message|>a<|channel|>final<|message|>b<|message|>c"
                    "<|end|>\n<|start|>assistant<|channel|>fin"),
            "reasoning{a} content{bc}");
  EXPECT_EQ(Harmony("plain"), Content("plain"));
  EXPECT_EQ(Harmony(" \n"), Content(" \n"));
  EXPECT_EQ(Harmony("<|end|><|return|>"), "");
}

TEST(Harmony, WithoutToolsReadsChannelsAndNoCalls) {
  AnswerFormat format = Format(CallFormat::kHarmony);
  format.tools = {};
  const std::string call = "<|channel|>commentary to=functions.now<|message|>{}";
  EXPECT_EQ(Parse(format, "<|channel|>analysis<|message|>a<|end|>" + call),
            "reasoning{a} " + Content(call));
}

TEST(Harmony, StartsInsideWhatTheGenerationPromptOpened) {
  EXPECT_EQ(Parse(Format(CallFormat::kHarmony, true),
                  "hm<|end|><|start|>assistant<|channel|>final<|message|>yes"),
            "reasoning{hm} content{yes}");
}

}  // namespace
}  // namespace cairn::calls_test
