// Large answers cost what they are long. Each of these would take minutes if the text behind a part
// were moved, searched or parsed again for every part. A client can send such a text as the
// beginning of the answer, or make a model write it.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "chat/calls/call_splitter.h"
#include "testing/chat/parsed_answer.h"

namespace cairn::calls_large_test {
namespace {

using test::Content;
using test::Format;
using test::ParsePushed;

constexpr size_t kLargeBytes = size_t{8} << 20U;

std::string Repeated(std::string_view part, size_t bytes = kLargeBytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

size_t CallsIn(const AnswerFormat& format, const std::string& text) {
  const auto parser = MakeAnswerParser(format);
  size_t calls = 0;
  for (const auto& pieces : {parser->Push(text), parser->Finish()}) {
    calls += static_cast<size_t>(std::count_if(
        pieces.begin(), pieces.end(),
        [](const AnswerDelta& piece) { return piece.kind == AnswerDelta::Kind::kCallBegin; }));
  }
  return calls;
}

TEST(LargeAnswers, OfManyCalls) {
  const std::string hermes = R"(<tool_call>{"name":"now","arguments":{}}</tool_call>)";
  const std::string harmony = "<|channel|>commentary to=functions.now<|message|>{}<|call|>";
  for (const bool streams : {false, true}) {
    AnswerFormat format = Format(CallFormat::kHarmony);
    format.stream_arguments = streams;
    const std::string text = Repeated(harmony);
    EXPECT_EQ(CallsIn(format, text), text.size() / harmony.size());
  }
  const std::string text = Repeated(hermes);
  EXPECT_EQ(CallsIn(Format(CallFormat::kHermes), text), text.size() / hermes.size());
}

TEST(LargeAnswers, OfTextsThatOnlyBeginLikeCalls) {
  const std::vector<std::pair<CallFormat, std::string>> beginnings = {
      {CallFormat::kHermes, "<tool_call>"},
      {CallFormat::kHermes, R"(<tool_call>{"name":"now","arguments":{"a":[)"},
      {CallFormat::kQwenXml, "<tool_call>\n<function=now>\n<parameter=a>\n"},
      {CallFormat::kMistral, "[TOOL_CALLS]now[ARGS]{"},
  };
  for (const auto& [calls, beginning] : beginnings) {
    const std::string text = Repeated(beginning, kLargeBytes / 4) + "x";
    EXPECT_TRUE(ParsePushed(Format(calls), {text}).text == Content(text)) << beginning;
  }
  // Tags are no content.
  EXPECT_EQ(ParsePushed(Format(CallFormat::kHarmony), {Repeated("<|end|>")}).text, "");
  EXPECT_EQ(ParsePushed(Format(CallFormat::kHarmony), {Repeated("<|channel|>")}).text, "");
}

TEST(LargeAnswers, BehindManyBrokenCallsAllIsContent) {
  const std::string call = R"(<tool_call>{"name":"now","arguments":{}}</tool_call>)";
  const auto behind = [&](size_t broken) {
    std::string text;
    for (size_t i = 0; i < broken; ++i) text += "<tool_call>";
    return CallsIn(Format(CallFormat::kHermes), text + call);
  };
  EXPECT_EQ(behind(CallSplitter::kBrokenCallsMax - 1), 1u);
  EXPECT_EQ(behind(CallSplitter::kBrokenCallsMax), 0u);
}

TEST(LargeAnswers, OfACallWithManyBytesThatMightEndIt) {
  const std::string arguments = R"({"a":")" + std::string(300'000, '>') + R"("})";
  const std::string text = R"(<tool_call>{"name":"now","arguments":)" + arguments + "}</tool_call>";
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  EXPECT_TRUE(ParsePushed(Format(CallFormat::kHermes), bytes).text ==
              "call0{now " + arguments + "}");
}

TEST(LargeAnswers, OfACallWithManyParameters) {
  std::string text = "<tool_call>\n<function=now>\n";
  std::string arguments;
  for (size_t i = 0; i < 200'000; ++i) {
    const std::string name = "a" + std::to_string(i);
    text += "<parameter=" + name + ">\nx\n</parameter>\n";
    arguments += (i == 0 ? "\"" : ", \"") + name + "\": \"x\"";
  }
  text += "</function>\n</tool_call>";
  EXPECT_TRUE(ParsePushed(Format(CallFormat::kQwenXml), {text}).text ==
              "call0{now {" + arguments + "}}");
}

TEST(LargeAnswers, OfWhiteSpaceInManyPieces) {
  std::vector<std::string> pushes(200'000, std::string(16, ' '));
  pushes.insert(pushes.begin(), "a");
  pushes.emplace_back("b");
  const std::string text = "a" + std::string(200'000 * 16, ' ') + "b";
  EXPECT_TRUE(ParsePushed(Format(CallFormat::kHermes), pushes).text == Content(text));
}

}  // namespace
}  // namespace cairn::calls_large_test
