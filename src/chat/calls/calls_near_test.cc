// Calls near their syntax: read as calls where they plainly are some, otherwise text, and in both
// cases the same however the answer is cut.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "chat/parse/answer_parser.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/parsed_answer.h"

namespace cairn::calls_near_test {
namespace {

using test::Content;
using test::Parse;

const AnswerFormat& FormatOf(const std::string& family) {
  static std::map<std::string, AnswerFormat> formats;
  AnswerFormat& format = formats[family];
  if (format.tools.empty()) {
    format = FindAnswerFormat(*test::Family(family), "", Tools::Parse(test::kTools).value());
  }
  return format;
}

AnswerFormat Streamed(AnswerFormat format) {
  format.stream_arguments = true;
  return format;
}

struct Odd {
  size_t broken = 0;
  size_t mended = 0;
};
Odd OddCalls(const AnswerFormat& format, const std::string& text) {
  const auto parser = MakeAnswerParser(format);
  parser->Push(text);
  parser->Finish();
  return {parser->broken_calls(), parser->mended_calls()};
}

// The calls of a text that deviates from the syntax: the same with arguments as they are written.
std::string Near(const std::string& family, const std::string& text) {
  const AnswerFormat& format = FormatOf(family);
  std::string whole = Parse(format, text);
  EXPECT_EQ(Parse(Streamed(format), text), whole) << text;
  const Odd odd = OddCalls(format, text);
  EXPECT_EQ(odd.broken, 0u) << text;
  EXPECT_GE(odd.mended, 1u) << text;
  return whole;
}

TEST(NearCalls, GemmaWritesJsonAndNewLinesInItsBraces) {
  const std::string both = R"(call0{weather {"city": "Rome", "days": 2}})";
  EXPECT_EQ(Parse(FormatOf("gemma4"),
                  "<|tool_call>call:weather{city:<|\"|>Rome<|\"|>,\ndays:2}<tool_call|>"),
            both);
  for (const char* braces :
       {"{\"city\": \"Rome\", \"days\": 2}", "{\n  \"city\": \"Rome\",\n  \"days\": 2\n}",
        "{city='Rome',days=2}", "{city:<|\"|>Rome<|\"|>, \"days\":2,}",
        "{<|\"|>city<|\"|>:\"Rome\",days:2}"}) {
    EXPECT_EQ(Near("gemma4", "<|tool_call>call:weather" + std::string(braces) + "<tool_call|>"),
              both);
  }
  EXPECT_EQ(
      Near("gemma4", "<|tool_call>call:weather{where:{\"x\": \"a}b\", 'y': True}}<tool_call|>"),
      R"(call0{weather {"where": {"x": "a}b", "y": true}}})");
  EXPECT_EQ(Near("gemma4", "<|tool_call>call:ns:now{}<tool_call|> ok"),
            "call0{now {}} content{ ok}");
}

TEST(NearCalls, TagsAroundCallsMayBeInTheSingularOrThePlural) {
  const std::string call =
      "<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Rome\"}"
      "<|tool_call_end|>";
  for (const char* family : {"kimi-k2", "kimi-k2-thinking"}) {
    EXPECT_EQ(Near(family, "<|tool_call_section_begin|>" + call + "<|tool_call_section_end|>"),
              R"(call0{weather {"city": "Rome"}})");
    EXPECT_EQ(Parse(FormatOf(family),
                    "<|tool_calls_section_begin|>" + call + call + "<|tool_call_section_end|>"),
              R"(call0{weather {"city": "Rome"}} call1{weather {"city": "Rome"}})");
  }
}

TEST(NearCalls, IdsInTheNamesPlaceMayBeWrittenInOtherWays) {
  for (const char* id : {"functions_weather_1", "weather:3", "functions.weather", "weather_0",
                         "functions.weather-2"}) {
    EXPECT_EQ(Parse(FormatOf("kimi-k2"), "<|tool_calls_section_begin|><|tool_call_begin|>" +
                                             std::string(id) +
                                             "<|tool_call_argument_begin|>{}<|tool_call_end|>"
                                             "<|tool_calls_section_end|>"),
              "call0{weather {}}")
        << id;
  }
  EXPECT_EQ(Near("kimi-k2",
                 "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|><|tool_call_end|>"),
            "call0{now {}}");
}

TEST(NearCalls, OneTagMayHoldSeveralObjectsAndAListOne) {
  const std::string now = R"({"name": "now", "arguments": {}})";
  const std::string weather = R"({"name": "weather", "arguments": {"city": "x"}})";
  const std::string both = R"(call0{now {}} call1{weather {"city": "x"}})";
  for (const std::string& inside : {now + "\n" + weather, now + weather, now + ",\n" + weather,
                                    "[" + now + ", " + weather + "]", "[" + now + weather + ",]"}) {
    EXPECT_EQ(Parse(FormatOf("qwen3"), "<tool_call>\n" + inside + "\n</tool_call>"), both);
    EXPECT_EQ(Parse(FormatOf("nemotron-h"), "<TOOLCALL>" + inside + "</TOOLCALL>"), both);
  }
  EXPECT_EQ(Near("qwen3", "<tool_call>\n" + now + "\n" + weather + "\n</tool_call>"), both);
  EXPECT_EQ(Parse(FormatOf("nemotron-h"), "<TOOLCALL>" + now + "</TOOLCALL> ok"),
            "call0{now {}} content{ ok}");
  // What is behind them is no call.
  EXPECT_EQ(Parse(FormatOf("qwen3"), "<tool_call>" + now + "\n{\"x\": 1}"),
            "call0{now {}} content{\n{\"x\": 1}}");
  EXPECT_EQ(Parse(FormatOf("qwen3"), "<tool_call>" + now + ", then"),
            "call0{now {}} content{, then}");
  EXPECT_EQ(Parse(FormatOf("qwen3"), "<tool_call>" + now + ","), "call0{now {}} content{,}");
}

TEST(NearCalls, MembersHaveOtherNamesOrAreMissing) {
  const std::string now = "call0{now {}}";
  for (const char* object :
       {R"({"name": "now"})", R"({"name": "now", "id": "c1", "type": "function"})",
        R"({"name": "now", "arguments": null})", R"({"name": "now", "arguments": ""})",
        R"({"name": "now", "parameters": {}})", R"({"function": "now", "arguments": {}})",
        R"({"type": "function", "function": {"name": "now", "arguments": {}}})",
        R"({"name": "functions.now", "arguments": {}})", R"({'name': 'now', 'args': {}})",
        R"({"name": "now", "arguments": {},})", R"({name: "now", arguments: {}})",
        R"({"name": "now", "arguments": {})"}) {
    EXPECT_EQ(Near("qwen3", "<tool_call>\n" + std::string(object) + "\n</tool_call>"), now);
  }
  EXPECT_EQ(
      Near("command-r7b", R"(<|START_ACTION|>[{"name": "now", "arguments": {}}]<|END_ACTION|>)"),
      now);
}

TEST(NearCalls, ArgumentsThatAreAlmostJsonAreMended) {
  for (const auto& [written, meant] : std::vector<std::pair<std::string, std::string>>{
           {R"({"city": "Rome",})", R"({"city": "Rome"})"},
           {R"({'city': 'Rome', 'exact': True, 'maybe': None})",
            R"({"city": "Rome", "exact": true, "maybe": null})"},
           {"{\"city\": \"two\nlines\"}", R"({"city": "two\nlines"})"},
           {R"({"city": "\d"})", R"({"city": "\\d"})"},
           {R"({"city": "\ud83d"})", R"({"city": "\ufffd"})"}}) {
    EXPECT_EQ(Near("qwen3", "<tool_call>{\"name\": \"weather\", \"arguments\": " + written +
                                "}</tool_call>"),
              "call0{weather " + meant + "}");
    EXPECT_EQ(Near("mistral-small", "[TOOL_CALLS]weather[ARGS]" + written),
              "call0{weather " + meant + "}");
    EXPECT_EQ(
        Near("gpt-oss", "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>" +
                            written + "<|call|>"),
        "call0{weather " + meant + "}");
  }
  EXPECT_EQ(
      Near("qwen3", R"(<tool_call>{"name":"weather","arguments":"{'city': 'Rome'}"}</tool_call>)"),
      R"(call0{weather {"city": "Rome"}})");
}

TEST(NearCalls, AnEndTagInAStringIsPartOfIt) {
  for (const auto& [family, begin, end] : std::vector<std::array<std::string, 3>>{
           {"qwen3", R"(<tool_call>{"name":"weather","arguments":{"city":")", "\"}}</tool_call>"},
           {"gemma4", R"(<|tool_call>call:weather{"city":")", "\"}<tool_call|>"},
           {"kimi-k2", R"(<|tool_call_begin|>weather:0<|tool_call_argument_begin|>{"city":")",
            "\"}<|tool_call_end|>"}}) {
    const std::string text = begin + "a </tool_call> <tool_call|> <|tool_call_end|> }" + end;
    const std::string read = Parse(FormatOf(family), text);
    EXPECT_TRUE(read.starts_with("call0{weather {\"city\":")) << read;
    EXPECT_TRUE(read.ends_with("<|tool_call_end|> }\"}}")) << read;
  }
}

TEST(NearCalls, OtherFamiliesFormsStandBetweenTheTags) {
  const std::string rome = R"(call0{weather {"city": "Rome"}})";
  const std::string object = R"({"name": "weather", "arguments": {"city": "Rome"}})";
  EXPECT_EQ(Near("qwen3-coder", "<tool_call>\n" + object + "\n</tool_call>"), rome);
  EXPECT_EQ(Near("glm-4.5", "<tool_call>\n" + object + "\n</tool_call>"), rome);
  EXPECT_EQ(Near("glm-4.5", "<tool_call>weather\n{\"city\": \"Rome\"}\n</tool_call>"), rome);
  EXPECT_EQ(Near("qwen3-coder",
                 "<tool_call>\n<function=weather>\n{\"city\": \"Rome\"}\n"
                 "</function>\n</tool_call>"),
            rome);
  EXPECT_EQ(Near("mistral-small", "[TOOL_CALLS][" + object + "]"), rome);
  EXPECT_EQ(Near("mistral-small", "[TOOL_CALLS]weather{\"city\": \"Rome\"}"), rome);
  EXPECT_EQ(Near("deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>" + object +
                                    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            rome);
}

TEST(NearCalls, AMissingEndTagOfPairsIsMadeUpForByTheNext) {
  EXPECT_EQ(Parse(FormatOf("qwen3-coder"),
                  "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n"
                  "</tool_call>"),
            R"(call0{weather {"city": "Rome"}})");
}

TEST(NearCalls, WhatMayMeanSomethingElseIsTextByteForByte) {
  for (const auto& [family, text] : std::vector<std::pair<std::string, std::string>>{
           {"qwen3", R"(<tool_call>{"name": "weather", "city": "Rome"}</tool_call>)"},
           {"qwen3", R"(<tool_call>{"name": "now", "arguments": {}, "input": {}}</tool_call>)"},
           {"qwen3", R"(<tool_call>{"name": "weather", "arguments": {"city": "Rome"</tool_call>)"},
           {"qwen3", R"(<tool_call>{"name": "now", "name": "weather", "arguments": {"a)"},
           {"qwen3", R"(<tool_call>{"arguments": {}}</tool_call>)"},
           {"qwen3", "<tool_call>[]</tool_call>"},
           {"gemma4", "<|tool_call>call:weather{city:Rome}<tool_call|>"},
           {"gemma4", "<|tool_call>call:weather{city:<|\"|>Rome<|\"|>"},
           {"gemma4", "<|tool_call>call:weather{\"city\": \"Ro"},
           {"kimi-k2", "<|tool_call_section_begin|> and so on"},
           {"kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions_other_1<|"},
           {"glm-4.5", "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome"},
           {"gpt-oss",
            "<|channel|>commentary to=functions.weather<|message|>{\"city\": \"Ro<|call|>"},
           {"gpt-oss", "<|channel|>commentary to=functions.weather<|message|>{\"city\": \"Ro"}}) {
    const AnswerFormat& format = FormatOf(family);
    EXPECT_EQ(Parse(format, text), Content(text)) << family;
    const Odd odd = OddCalls(format, text);
    EXPECT_GE(odd.broken, 1u) << text;
    EXPECT_EQ(odd.mended, 0u) << text;
  }
}

// --- Random texts
// ---------------------------------------------------------------------------------------

struct Read {
  std::string text;
  std::vector<std::pair<std::string, std::string>> calls;
  size_t broken = 0;
  bool operator==(const Read&) const = default;
};

void PrintTo(const Read& read, std::ostream* out) {
  *out << "text " << read.text;
  for (const auto& [name, arguments] : read.calls) *out << "\ncall " << name << " " << arguments;
}

Read ReadPushes(const AnswerFormat& format, const std::vector<std::string>& pushes) {
  const auto parser = MakeAnswerParser(format);
  Read read;
  const auto add = [&](const std::vector<AnswerDelta>& pieces) {
    for (const AnswerDelta& piece : pieces) {
      if (piece.kind == AnswerDelta::Kind::kCallBegin) {
        read.calls.emplace_back(piece.text, "");
      } else if (piece.kind == AnswerDelta::Kind::kCallArguments) {
        read.calls.back().second += piece.text;
      } else {
        read.text += piece.text;
      }
    }
  };
  for (const std::string& push : pushes) add(parser->Push(push));
  add(parser->Finish());
  read.broken = parser->broken_calls();
  return read;
}

// Texts near the calls of one family: its own call with bytes and words left out, doubled, swapped
// and put in, and cut at the end.
class NearText {
 public:
  NearText(uint32_t seed, std::string call) : random_(seed), call_(std::move(call)) {}

  std::string Next() {
    std::string text = Below(3) == 0 ? "I look. " : "";
    for (size_t n = 1 + Below(2); n > 0; --n) text += Changed();
    if (Below(3) == 0) text.resize(Below(text.size() + 1));
    if (Below(4) == 0) text += " ok";
    return text;
  }

  std::vector<std::string> Pushes(const std::string& text) {
    std::vector<std::string> pushes(1);
    const size_t often = 1 + Below(9);
    for (const char c : text) {
      pushes.back() += c;
      if (Below(often) == 0) pushes.emplace_back();
    }
    return pushes;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }

  std::string Changed() {
    static const std::vector<std::string> words = {
        "\n",         " ",  ",",          "\"",          "'",         "{",
        "}",          "[",  "]",          ":",           "=",         "True",
        "None",       "\\", "\\d",        "\\ud83d",     "x",         "</tool_call>",
        "<",          ">",  "\"name\": ", "\"now\"",     "weather",   "now",
        "<|\"|>",     ".",  "functions.", "parameters",  "arguments", "{\"city\": \"x\"}",
        "{}",         ",}", "null",       "</function>", "_0",        "{\"name\": \"now\"}",
        "<tool_call>"};
    std::string text = call_;
    for (size_t n = Below(4); n > 0 && !text.empty(); --n) {
      const size_t at = Below(text.size());
      switch (Below(4)) {
        case 0:
          text.erase(at, 1 + Below(3));
          break;
        case 1:
          text.insert(at, words[Below(words.size())]);
          break;
        case 2:
          text.replace(at, 1, words[Below(words.size())]);
          break;
        default:
          text.insert(at, text.substr(Below(text.size()), 1 + Below(20)));
      }
    }
    return text;
  }

  std::mt19937 random_;
  const std::string call_;
};

std::vector<std::pair<std::string, std::string>> FamilyCalls() {
  return {
      {"qwen3",
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}}\n"
       "</tool_call>"},
      {"falcon-h1",
       "<tool_call>\n[{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}, {\"name\": "
       "\"now\", \"arguments\": {}}]\n</tool_call>"},
      {"mistral-v3",
       "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}, \"id\": "
       "\"abcdefghi\"}]"},
      {"mistral-small", "[TOOL_CALLS]weather[ARGS]{\"city\": \"Rome\"}"},
      {"kimi-k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
       "<|tool_call_argument_begin|>{\"city\": \"Rome\"}<|tool_call_end|>"
       "<|tool_calls_section_end|>"},
      {"deepseek-v3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Rome\"}"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"gemma4", "<|tool_call>call:weather{city:<|\"|>Rome<|\"|>,days:2}<tool_call|>"},
      {"glm-4.5",
       "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>"},
      {"qwen3-coder",
       "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n"
       "</tool_call>"},
      {"gpt-oss",
       "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": "
       "\"Rome\"}<|call|>"},
  };
}

TEST(NearCalls, AnAnswerIsReadTheSameHoweverItIsCut) {
  for (const auto& [family, call] : FamilyCalls()) {
    const AnswerFormat& format = FormatOf(family);
    NearText near(17, call);
    size_t calls = 0;
    size_t texts = 0;
    for (int round = 0; round < 3000; ++round) {
      const std::string text = near.Next();
      const Read whole = ReadPushes(format, {text});
      ASSERT_EQ(ReadPushes(format, near.Pushes(text)), whole) << family << ": " << text;
      for (const auto& [name, arguments] : whole.calls) {
        ASSERT_TRUE(name == "weather" || name == "now") << text;
        ASSERT_TRUE(Json::parse(arguments, nullptr, false).is_object()) << text;
      }
      // While arguments are written, a call that turns out to be none can no more be taken back;
      // all else is the same.
      const AnswerFormat streamed = Streamed(format);
      const Read written = ReadPushes(streamed, near.Pushes(text));
      ASSERT_EQ(written, ReadPushes(streamed, {text})) << family << ": " << text;
      if (whole.broken == 0) {
        ASSERT_EQ(written, whole) << family << ": " << text;
      }
      calls += whole.calls.empty() ? 0 : 1;
      texts += whole.broken == 0 ? 0 : 1;
      if (whole.calls.empty() && family != "gpt-oss") {
        ASSERT_TRUE(text.starts_with(whole.text)) << whole.text << " of " << text;
        ASSERT_EQ(text.find_first_not_of(" \n", whole.text.size()), std::string::npos) << text;
      }
    }
    EXPECT_GT(calls, 300u) << family;
    EXPECT_GT(texts, 300u) << family;
  }
}

}  // namespace
}  // namespace cairn::calls_near_test
