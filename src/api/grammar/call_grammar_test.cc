#include "api/grammar/call_grammar.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "api/json.h"
#include "api/request/apply_tool_choice.h"
#include "chat/parse/answer_parser.h"
#include "engine/grammar/grammar.h"
#include "testing/base/golden_file.h"
#include "testing/base/played_share.h"
#include "testing/chat/test_templates.h"

namespace cairn::call_grammar_test {
namespace {

// What a template of each family has in it that tells the family.
struct Source {
  std::string name;
  std::string text;
  // Learning how it writes calls takes many renderings.
  std::shared_ptr<const ChatTemplate> parsed = {};
};
const std::vector<Source>& Sources() {
  static const std::vector<Source> sources = [] {
    std::vector<Source> all = {
        {"Hermes", "<tool_call>"},
        {"QwenXml", "<tool_call><function=a><parameter=b>"},
        {"Lfm2", "<|tool_call_start|>"},
        {"LlamaJson", "<|python_tag|>"},
        {"LlamaPythonic", "[func_name1(a=1)]"},
        {"Mistral", "[TOOL_CALLS]"},
        {"MistralArgs", "[TOOL_CALLS][ARGS]"},
        {"Granite", "<|tool_call|>"},
        {"Phi", "<|tool_call|><|/tool_call|>"},
        {"Harmony", "<|channel|><|message|>"},
    };
    // Those of which the syntax is learned.
    for (const std::string name :
         {"cohere2-moe", "command-r7b", "deepseek-v3", "deepseek-v3.2", "deepseek-v4.1",
          "falcon-h1",   "gemma4",      "glm-4.5",     "glm-5.2",       "granite4",
          "kimi-k2",     "kimi-k3",     "minimax-m2",  "mistral-small", "mistral-v3",
          "nemotron-3",  "nemotron-h",  "qwen3",       "qwen3-coder",   "seed-oss"}) {
      all.push_back({name, ReadSourceFile("testdata/templates/" + name + ".jinja")});
    }
    for (Source& source : all) {
      source.parsed = test::Parsed(source.text);
      const bool learned = source.text.size() > 100;
      EXPECT_EQ(CallFormatOf(*source.parsed) == CallFormat::kLearned, learned) << source.name;
    }
    return all;
  }();
  return sources;
}

const std::string kWeather =
    R"({"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":
    {"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},
     "unit":{"type":"string","enum":["C","F"]},"exact":{"type":"boolean"},
     "note":{"anyOf":[{"type":"string"},{"type":"null"}]},
     "where":{"$ref":"#/$defs/place"},"list":{"type":"array","items":{"type":"integer"}}},
     "required":["city","days"],
     "$defs":{"place":{"type":"object","properties":{"x":{"type":"number"}}}}}}})";
const std::string kNow = R"({"type":"function","function":{"name":"now"}})";
const std::string kTools = "[" + kWeather + "," + kNow + "]";

Tools OfText(const std::string& json) {
  return json.empty() ? Tools() : Tools::Parse(json).value();
}

ToolChoice Required(std::vector<std::string> names = {}, bool several = true) {
  return {ToolChoice::Kind::kRequired, std::move(names), several};
}

struct Parsed {
  std::string content;
  struct Call {
    std::string name;
    std::string arguments;
  };
  std::vector<Call> calls;
};

Parsed Parse(const ChatTemplate& source, const std::string& answer, const std::string& tools) {
  const AnswerFormat format = FindAnswerFormat(source, "", OfText(tools));
  const auto parser = MakeAnswerParser(format);
  std::vector<AnswerDelta> pieces = parser->Push(answer);
  for (AnswerDelta& piece : parser->Finish()) pieces.push_back(std::move(piece));
  Parsed parsed;
  for (const AnswerDelta& piece : pieces) {
    if (piece.kind == AnswerDelta::Kind::kContent) parsed.content += piece.text;
    if (piece.kind == AnswerDelta::Kind::kCallBegin) parsed.calls.push_back({piece.text, ""});
    if (piece.kind == AnswerDelta::Kind::kCallArguments) {
      parsed.calls.back().arguments += piece.text;
    }
  }
  return parsed;
}

// A sentence of the grammar, character by character at random; from a certain length on what closes
// things is preferred. `value_end` closes a bare text in the syntax; empty: no text is bare.
std::string RandomSentence(const std::string& text, uint64_t seed, const std::string& value_end) {
  const auto grammar = Grammar::Parse(text);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message << "\n" << text;
  if (!grammar) return "";
  constexpr size_t kLong = 200;
  constexpr size_t kCharacters = 126;
  std::vector<std::string> closers = {"</parameter>", "<|end|>", "\"", "}", "]", ")"};
  if (!value_end.empty()) closers.push_back(value_end);
  std::mt19937_64 random(seed);
  GrammarMatcher matcher(*grammar);
  std::string sentence;
  // The first of `count` candidates that may follow, in an order of chance.
  const auto pick = [&](size_t count, const auto& candidate) {
    constexpr std::array<size_t, 6> kStrides = {5, 11, 13, 17, 19, 23};  // prime to all counts
    const size_t first = random() % count;
    const size_t stride = kStrides[random() % kStrides.size()];
    for (size_t i = 0; i < count; ++i) {
      std::string text_of = candidate((first + i * stride) % count);
      if (matcher.Allows(text_of)) return text_of;
    }
    return std::string();
  };
  while (sentence.size() < 4000) {
    if (matcher.MayEnd() && (sentence.size() > kLong || random() % 3 == 0)) break;
    std::string next;
    // Long runs of text are dull.
    if (sentence.size() > kLong || random() % 8 == 0) {
      next = pick(closers.size(), [&](size_t i) { return closers[i]; });
    }
    if (next.empty()) {
      next = pick(kCharacters, [](size_t i) { return std::string(1, static_cast<char>(i + 1)); });
    }
    for (const char* character : {"｜", "▁"}) {
      if (next.empty() && matcher.Allows(character)) next = character;
    }
    if (next.empty()) break;
    matcher.Accept(next);
    sentence += next;
  }
  EXPECT_TRUE(matcher.MayEnd()) << sentence;
  return sentence;
}

std::string ValueEnd(const Source& source) {
  const auto& learned = source.parsed->learned_calls();
  return learned ? learned->string_close : "";
}

TEST(CallGrammar, WhatItAllowsIsReadAsCallsThatFitTheSchema) {
  for (const Source& source : Sources()) {
    const auto grammar = GrammarOfCalls(*source.parsed, OfText(kTools), Required());
    ASSERT_TRUE(grammar.has_value()) << source.name << ": " << grammar.error().message;
    size_t weather = 0;
    for (uint64_t seed = 0; seed < test::Played(25); ++seed) {
      const std::string answer = RandomSentence(*grammar, seed, ValueEnd(source));
      const Parsed parsed = Parse(*source.parsed, answer, kTools);
      ASSERT_FALSE(parsed.calls.empty()) << source.name << ": " << answer;
      EXPECT_EQ(parsed.content, "") << source.name << ": " << answer;
      for (const Parsed::Call& call : parsed.calls) {
        const Json arguments = Json::parse(call.arguments);
        ASSERT_TRUE(arguments.is_object()) << answer;
        if (call.name != "weather") continue;
        ++weather;
        ASSERT_TRUE(arguments.contains("city") && arguments["city"].is_string()) << answer;
        // 2.0 is an integer too.
        ASSERT_TRUE(arguments["days"].is_number()) << answer;
        const auto days = arguments["days"].get<double>();
        EXPECT_EQ(days, std::floor(days)) << answer;
        EXPECT_GE(arguments["days"], 1);
        EXPECT_LE(arguments["days"], 14);
        const Json unit = arguments.value("unit", Json("C"));
        EXPECT_TRUE(unit == "C" || unit == "F") << answer;
        EXPECT_TRUE(arguments.value("exact", Json(true)).is_boolean()) << answer;
        const Json note = arguments.value("note", Json());
        EXPECT_TRUE(note.is_string() || note.is_null()) << answer;
        EXPECT_TRUE(arguments.value("where", Json::object()).is_object()) << answer;
        EXPECT_TRUE(arguments.value("list", Json::array()).is_array()) << answer;
      }
    }
    EXPECT_GT(weather, test::Played(5)) << source.name;
  }
}

TEST(CallGrammar, OneToolByNameOnce) {
  for (const Source& source : Sources()) {
    const auto grammar = GrammarOfCalls(*source.parsed, OfText(kTools), Required({"now"}, false));
    ASSERT_TRUE(grammar.has_value()) << source.name;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const std::string answer = RandomSentence(*grammar, seed, ValueEnd(source));
      const Parsed parsed = Parse(*source.parsed, answer, kTools);
      ASSERT_EQ(parsed.calls.size(), 1u) << source.name << ": " << answer;
      EXPECT_EQ(parsed.calls[0].name, "now");
    }
  }
}

TEST(CallGrammar, QwensXmlTakesTextAsItIs) {
  const auto grammar = GrammarOfCalls(*Sources()[1].parsed, OfText(kTools), Required({"weather"}));
  ASSERT_TRUE(grammar.has_value());
  GrammarMatcher matcher(*Grammar::Parse(*grammar));
  const std::string answer =
      "<tool_call>\n<function=weather>\n<parameter=city>\n<b>Ro</b>\n\"me\"\n</parameter>\n"
      "<parameter=days>\n12\n</parameter>\n</function>\n</tool_call>";
  ASSERT_TRUE(matcher.Allows(answer));
  matcher.Accept(answer);
  EXPECT_TRUE(matcher.MayEnd());
  const Parsed parsed = Parse(*Sources()[1].parsed, answer, kTools);
  EXPECT_EQ(Json::parse(parsed.calls.at(0).arguments),
            Json::parse(R"({"city":"<b>Ro</b>\n\"me\"","days":12})"));
}

void ExpectRefused(const ChatTemplate& source, const std::string& tools, const ToolChoice& choice,
                   const std::string& field) {
  const auto grammar = GrammarOfCalls(source, OfText(tools), choice);
  ASSERT_FALSE(grammar.has_value()) << source.source();
  EXPECT_EQ(grammar.error().status, 400);
  EXPECT_EQ(grammar.error().field, field) << grammar.error().message;
}

TEST(CallGrammar, WhatCannotBeForcedIsNamed) {
  ExpectRefused(*test::Parsed("<tool_call>"), kTools, Required({"other"}), "tool_choice");
  ExpectRefused(*test::Parsed("<tool_call>"), "", Required(), "tool_choice");
  ExpectRefused(*test::Parsed("a template of nobody"), kTools, Required(), "tool_choice");
  const std::string odd =
      R"([{"type":"function","function":{"name":"odd-one","parameters":)"
      R"({"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":2}},)"
      R"("required":["n"]}}}])";
  for (const Source& source : Sources()) {
    ExpectRefused(*source.parsed, odd, Required(), "tools.odd-one.parameters");
  }
}

// A tool's argument "d", whose values in calls are those of the schema in every family.
void ExpectValues(const std::string& schema, const std::vector<std::string>& values) {
  const std::string tools = R"([{"type":"function","function":{"name":"f","parameters":)"
                            R"({"type":"object","properties":{"d":)" +
                            schema + R"(},"required":["d"],"additionalProperties":false,)" +
                            R"("$defs":{"C":{"type":"string","enum":["r","g"]}}}}}])";
  for (const Source& source : Sources()) {
    Loosened loosened;
    const auto grammar =
        GrammarOfCalls(*source.parsed, OfText(tools), Required({}, false), &loosened);
    ASSERT_TRUE(grammar.has_value()) << source.name << ": " << grammar.error().message;
    EXPECT_TRUE(loosened.empty()) << source.name;
    for (uint64_t seed = 0; seed < test::Played(20); ++seed) {
      const std::string answer = RandomSentence(*grammar, seed, ValueEnd(source));
      const Parsed parsed = Parse(*source.parsed, answer, tools);
      ASSERT_EQ(parsed.calls.size(), 1u) << source.name << ": " << answer;
      const Json arguments = Json::parse(parsed.calls[0].arguments);
      const bool listed = std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        return arguments["d"] == Json::parse(value);
      });
      EXPECT_TRUE(listed) << source.name << ": " << answer << parsed.calls[0].arguments;
    }
  }
}

TEST(CallGrammar, ValuesAreTheSchemasWhateverTheSyntax) {
  ExpectValues(R"({"type":["string","null"],"enum":["r","g",null]})", {"\"r\"", "\"g\"", "null"});
  ExpectValues(R"({"allOf":[{"$ref":"#/$defs/C"}],"default":"r"})", {"\"r\"", "\"g\""});
  ExpectValues(R"({"enum":["r",1,true]})", {"\"r\"", "1", "1.0", "true"});
  ExpectValues(
      R"({"anyOf":[{"type":"integer","minimum":5,"maximum":6},{"type":"string","enum":["auto"]}]})",
      {"5", "6", "5.0", "6.0", "\"auto\""});
  // A number that is none of the texts is no text.
  ExpectValues(R"({"type":["integer","string"],"minimum":5,"maximum":6,"pattern":"^[ab]%$"})",
               {"5", "6", "5.0", "6.0", "\"a%\"", "\"b%\""});
  ExpectValues(R"({"type":"string","pattern":"^\\d:[ab]$"})", [] {
    std::vector<std::string> all;
    for (char c = '0'; c <= '9'; ++c) {
      all.push_back(std::string("\"") + c + ":a\"");
      all.push_back(std::string("\"") + c + ":b\"");
    }
    return all;
  }());
  ExpectValues(R"({"type":"array","items":{"enum":["r"]},"minItems":1,"maxItems":2})",
               {R"(["r"])", R"(["r","r"])"});
}

TEST(CallGrammar, AChoiceAtTheRootAndAReferenceThereAreForced) {
  const std::string either =
      R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":)"
      R"({"a":{"enum":[1]},"b":{"enum":[2]}},"anyOf":[{"required":["a"]},{"required":["b"]}],)"
      R"("additionalProperties":false}}}])";
  const std::string reference =
      R"([{"type":"function","function":{"name":"f","parameters":{"$ref":"#/$defs/N","$defs":)"
      R"({"N":{"type":"object","properties":{"a":{"enum":[1]}},"required":["a"],)"
      R"("additionalProperties":false}}}}}])";
  for (const Source& source : Sources()) {
    for (const std::string& tools : {either, reference}) {
      const auto grammar = GrammarOfCalls(*source.parsed, OfText(tools), Required({}, false));
      ASSERT_TRUE(grammar.has_value()) << source.name << ": " << grammar.error().message;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        const std::string answer = RandomSentence(*grammar, seed, ValueEnd(source));
        const Parsed parsed = Parse(*source.parsed, answer, tools);
        ASSERT_EQ(parsed.calls.size(), 1u) << source.name << ": " << answer;
        const Json arguments = Json::parse(parsed.calls[0].arguments);
        EXPECT_TRUE(arguments.contains("a") || arguments.contains("b")) << source.name << answer;
      }
    }
  }
}

TEST(ApplyToolChoice, LooksForCallsOnlyOfWhatMayBeCalled) {
  const auto hermes = test::Parsed("<tool_call>");
  ChatRequest request;
  request.conversation.tools = OfText(kTools);
  EXPECT_EQ(ApplyToolChoice(*hermes, &request).value(), OfText(kTools));
  request.tool_choice.kind = ToolChoice::Kind::kNone;
  EXPECT_TRUE(ApplyToolChoice(*hermes, &request).value().empty());
  request.tool_choice = {ToolChoice::Kind::kAuto, {"now"}, true};
  EXPECT_EQ(ApplyToolChoice(*hermes, &request).value(), OfText("[" + kNow + "]"));
  EXPECT_EQ(request.grammar, "");
  EXPECT_EQ(request.conversation.tools, OfText(kTools));
  request.tool_choice.kind = ToolChoice::Kind::kRequired;
  EXPECT_TRUE(ApplyToolChoice(*hermes, &request).has_value());
  EXPECT_NE(request.grammar, "");
  // Two grammars cannot both hold.
  EXPECT_EQ(ApplyToolChoice(*hermes, &request).error().field, "tool_choice");
}

TEST(ApplyToolChoice, AFormatIsForTextsAndACallStaysPossible) {
  const auto hermes = test::Parsed("<tool_call>");
  const auto may_begin = [](const ChatRequest& request, const std::string& text) {
    return GrammarMatcher(Grammar::Parse(request.grammar).value()).Allows(text);
  };
  ChatRequest request;
  request.conversation.tools = OfText(kTools);
  request.grammar = "root ::= \"7\"\n";
  ChatRequest own = request;
  request.grammar_is_format = true;
  ChatRequest forced = request;
  ASSERT_TRUE(ApplyToolChoice(*hermes, &request).has_value());
  EXPECT_TRUE(may_begin(request, "7"));
  EXPECT_TRUE(may_begin(request, "<tool_call>"));
  EXPECT_FALSE(may_begin(request, "Hello"));
  forced.tool_choice.kind = ToolChoice::Kind::kRequired;
  ASSERT_TRUE(ApplyToolChoice(*hermes, &forced).has_value());
  EXPECT_FALSE(may_begin(forced, "7"));
  EXPECT_TRUE(may_begin(forced, "<tool_call>"));
  // A client's own grammar holds for whatever the model writes.
  ASSERT_TRUE(ApplyToolChoice(*hermes, &own).has_value());
  EXPECT_EQ(own.grammar, "root ::= \"7\"\n");
}

}  // namespace
}  // namespace cairn::call_grammar_test
