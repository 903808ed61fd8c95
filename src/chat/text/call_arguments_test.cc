#include "chat/text/call_arguments.h"

#include <gtest/gtest.h>

#include <string>

#include "chat/text/limited_json.h"

namespace cairn {
namespace {

TEST(ClosedObject, ClosesWhatIsOpenWhereTheTextEnds) {
  const auto closed = [](std::string_view text) { return ClosedObject(text).value_or("none"); };
  EXPECT_EQ(closed("{"), "{}");
  EXPECT_EQ(closed(R"({"path": "AAAA)"), R"({"path": "AAAA"})");
  EXPECT_EQ(closed(R"({"a": {"b": [1, "x)"), R"({"a": {"b": [1, "x"]}})");
  EXPECT_EQ(closed(R"({"a": 12)"), R"({"a": 12})");
  EXPECT_EQ(closed(R"({"a": tru)"), R"({"a": "tru"})");
  EXPECT_EQ(closed(R"({"a": 1.)"), R"({"a": "1."})");
  EXPECT_EQ(closed(R"({"a": [)"), R"({"a": []})");
  EXPECT_EQ(closed(R"({"a": [1, )"), R"({"a": [1]})");
}

TEST(ClosedObject, AKeyWithoutAValueHasAnEmptyTextAndNeverAnEarlierMembersPlace) {
  const auto closed = [](std::string_view text) { return ClosedObject(text).value_or("none"); };
  EXPECT_EQ(closed(R"({"a": 1,)"), R"({"a": 1})");
  EXPECT_EQ(closed(R"({"a": 1, "qu)"), R"({"a": 1, "qu": ""})");
  EXPECT_EQ(closed(R"({"a": 1, "query")"), R"({"a": 1, "query": ""})");
  EXPECT_EQ(closed(R"({"query":)"), R"({"query":""})");
  EXPECT_EQ(closed(R"({"ab": 1, "ab)"), R"({"ab": 1})");
  EXPECT_EQ(closed(R"({"ab": 1, "ab":)"), R"({"ab": 1})");
  EXPECT_EQ(closed(R"({"ab": 1, "c": {"ab":)"), R"({"ab": 1, "c": {"ab":""}})");
}

TEST(ClosedObject, HalfAnEscapeIsDropped) {
  const auto closed = [](std::string_view text) { return ClosedObject(text).value_or("none"); };
  EXPECT_EQ(closed(R"({"a": "x\)"), R"({"a": "x"})");
  EXPECT_EQ(closed(R"({"a": "x\")"), R"({"a": "x\""})");
  EXPECT_EQ(closed(R"({"a": "x\u00e)"), R"({"a": "x"})");
  EXPECT_EQ(closed(R"({"a": "x\u00e9)"), R"({"a": "x\u00e9"})");
  EXPECT_EQ(closed(R"({"a": "x\ud83d)"), R"({"a": "x"})");
  EXPECT_EQ(closed(R"({"a": "x\ud83d\ude)"), R"({"a": "x"})");
  EXPECT_EQ(closed(R"({"a": "x\ud83d\ude00)"), R"({"a": "x\ud83d\ude00"})");
}

TEST(ClosedObject, WhatIsNoBeginningOfAnObjectHasNoEnd) {
  for (const char* text : {"", "x", "[1", "\"a", "{broken", "{1", R"({"a" 1)", R"({"a": 1})",
                           R"({"a": 1} x)", R"({"a": 1]})", "{]"}) {
    EXPECT_EQ(ClosedObject(text), std::nullopt) << text;
  }
  EXPECT_EQ(ClosedObject(R"({"a":)" + std::string(100000, '[')), std::nullopt);
}

TEST(ArgumentsObject, IsAnObjectAfterEveryByteOfAnAnswer) {
  const std::string whole =
      R"({"path": "A\n\"\u00e9\ud83d\ude00é", "n": [-1.5e3, true, null, {"x": {}}], "e": ""})";
  const Json complete = Json::parse(whole);
  EXPECT_EQ(ArgumentsObject(whole), complete);
  EXPECT_FALSE(AreBrokenArguments(whole));
  for (size_t size = 1; size < whole.size(); ++size) {
    // Requests are UTF-8.
    if ((static_cast<unsigned char>(whole[size]) & 0xC0U) == 0x80U) continue;
    const std::string cut = whole.substr(0, size);
    const Json object = ArgumentsObject(cut);
    ASSERT_TRUE(object.is_object()) << cut;
    EXPECT_FALSE(object.contains("arguments")) << cut;
    EXPECT_TRUE(AreBrokenArguments(cut)) << cut;
    const bool has_path = size > whole.find("\", \"n\"");
    if (has_path) EXPECT_EQ(object["path"], complete["path"]) << cut;
  }
}

TEST(ArgumentsObject, AnythingElseIsOneArgument) {
  for (const std::string text : {"ls -l", "[1, 2]", "7", "\"{}\"", "{broken", "{\"a\": 1} {"}) {
    const Json wanted = {{"arguments", text}};
    EXPECT_EQ(ArgumentsObject(text), wanted);
    EXPECT_TRUE(AreBrokenArguments(text));
  }
  for (const char* none : {"", " \n", "null", "{}"}) {
    EXPECT_EQ(ArgumentsObject(none), Json::object()) << none;
    EXPECT_FALSE(AreBrokenArguments(none));
  }
}

TEST(ArgumentsObject, StaysWithinTheLimitsOfJson) {
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"k" + std::to_string(i) + "\": 1, ";
  for (const std::string& text :
       {many, R"({"a": )" + std::string(1000, '['), R"({"a": )" + std::string(1000, '[') + "1"}) {
    const Json object = ArgumentsObject(text);
    EXPECT_TRUE(CheckJsonLimits(object, "x").has_value());
    EXPECT_EQ(object["arguments"], text);
  }
}

}  // namespace
}  // namespace cairn
