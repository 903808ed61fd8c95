#include "chat/text/json_mender.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/text/limited_json.h"

namespace cairn::json_mender_test {
namespace {

using Status = JsonMender::Status;

constexpr char kQuote[] = "<|\"|>";

// What is written of a text, and how it ends: "…", "? …" where more may follow, "! …" where it is
// invalid, with the bytes that were read last and not written.
std::string Mended(std::string_view text, std::string_view quote = {}) {
  JsonMender mender(quote);
  std::string json;
  for (size_t at = 0; at < text.size(); ++at) {
    const Status status = mender.Push(text[at], &json);
    if (status == Status::kEnd && at + 1 == text.size()) return json;
    if (status == Status::kMore) continue;
    return "! " + json + "|" +
           std::string(text.substr(at + 1 - mender.unwritten_bytes(), mender.unwritten_bytes()));
  }
  return "? " + json + "|" + std::string(text.substr(text.size() - mender.unwritten_bytes()));
}

bool IsMended(std::string_view text, std::string_view quote = {}) {
  JsonMender mender(quote);
  std::string json;
  for (const char c : text) mender.Push(c, &json);
  return mender.mended();
}

TEST(JsonMender, LeavesJsonAsItIsByteForByte) {
  for (const char* text : {"{}", "{ }", R"({"a":1,"b" : [true,false , null],
        "c":{"d":-1.5e3}})",
                           R"({"\u00e9\"\\\/\n":"\ud83d\ude00 ä {}[],:'<|"})", "{\"a\":[[],{}]}"}) {
    EXPECT_EQ(Mended(text), text);
    EXPECT_FALSE(IsMended(text)) << text;
  }
}

TEST(JsonMender, MendsWhatPlainlyMeansJson) {
  for (const auto& [text, json] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a":1,})", R"({"a":1})"},
           {"{\"a\":[1,2, ], }", "{\"a\":[1,2 ] }"},
           {"{'a': 'it\\'s \"so\"'}", R"({"a": "it's \"so\""})"},
           {R"({"a":True,"b":[False,None]})", R"({"a":true,"b":[false,null]})"},
           {"{a:1, b_2 : {c-d:2}}", R"({"a":1, "b_2": {"c-d":2}})"},
           {"{\"a\"=1}", R"({"a":1})"},
           {"{\"a\":\"x\ny\tz\x01\"}", R"({"a":"x\ny\tz\u0001"})"},
           {R"({"a":"\d+\.\'"})", R"({"a":"\\d+\\.'"})"},
           {R"({"a":"\ud83d"})", R"({"a":"\ufffd"})"},
           {R"({"a":"\ud83dx\ude00\ud83d\ud83d\ude00"})",
            R"({"a":"\ufffdx\ufffd\ufffd\ud83d\ude00"})"},
           {R"({"\udfff\n":1})", R"({"\ufffd\n":1})"}}) {
    EXPECT_EQ(Mended(text), json) << text;
    EXPECT_TRUE(IsMended(text)) << text;
    EXPECT_TRUE(ParseLimitedJson(json, "x").has_value()) << json;
  }
}

TEST(JsonMender, ReadsStringsBetweenQuotesOfAnyText) {
  EXPECT_EQ(Mended("{city:<|\"|>Ro}m\"e\\<|\"|>,days:[1,2],x:{}}", kQuote),
            R"({"city": "Ro}m\"e\\", "days": [1, 2], "x": {}})");
  EXPECT_FALSE(IsMended("{city:<|\"|>Rome<|\"|>,c d:1}", kQuote));
  EXPECT_EQ(Mended("{a:<|\"|><|<|\"|>}", kQuote), R"({"a": "<|"})");
  EXPECT_EQ(Mended("{\n  \"a\" : \"}\" ,\n  'b'='x'\n}", kQuote), R"({"a": "}", "b": "x"})");
  EXPECT_TRUE(IsMended("{\"a\":1}", kQuote) || IsMended("{'a':1}", kQuote));
  EXPECT_EQ(Mended("{<|\"|>a<|\"|>:1,}", kQuote), R"({"a": 1})");
  EXPECT_EQ(Mended("{}", kQuote), "{}");
}

TEST(JsonMender, RefusesWhatHasNoPlainMeaningAtTheFirstByte) {
  for (const auto& [text, told] :
       std::vector<std::pair<std::string, std::string>>{{"[", "! |["},
                                                        {R"({"a":Rome})", R"(! {"a":|R)"},
                                                        {R"({"a":1 "b")", R"(! {"a":1 |")"},
                                                        {R"({"a":1, ]})", R"(! {"a":1|, ])"},
                                                        {R"({,})", "! {|,"},
                                                        {R"({"a":tru})", R"(! {"a":|tru})"},
                                                        {R"({"a":"\x41"})", R"(! {"a":"|\x)"},
                                                        {R"({"a":"\u12g4"})", R"(! {"a":"|\u12g)"},
                                                        {R"({"a":01})", R"(! {"a":0|1)"},
                                                        {R"({"a":1e999})", R"(! {"a":1e999|})"},
                                                        {"{a b:1}", R"(! {"a| b)"},
                                                        {R"({"a":{]})", R"(! {"a":{|])"}}) {
    EXPECT_EQ(Mended(text), told) << text;
  }
  EXPECT_EQ(Mended("{a:<b>}", kQuote), R"(! {"a": |<b)");
}

TEST(JsonMender, WritesNothingThatMayChange) {
  EXPECT_EQ(Mended(R"({"a":1, )"), R"(? {"a":1|, )");
  EXPECT_EQ(Mended(R"({"a":"x\)"), R"(? {"a":"x|\)");
  EXPECT_EQ(Mended(R"({"a":"\ud83d)"), R"(? {"a":"|\ud83d)");
  EXPECT_EQ(Mended(R"({"a":Tr)"), R"(? {"a":|Tr)");
  EXPECT_EQ(Mended("{a:<|\"|>x<|", kQuote), R"(? {"a": "x|<|)");
  EXPECT_EQ(Mended(R"({"a":"Ro)"), R"(? {"a":"Ro|)");
}

TEST(JsonMender, KeepsTheLimitsOfJsonFromAClient) {
  const std::string deep(80, '[');
  EXPECT_TRUE(Mended("{\"a\":" + deep).starts_with("! "));
  std::string many = "{\"k\":0";
  for (int i = 0; i < 1100; ++i) many += ",\"k\":0";
  EXPECT_TRUE(Mended(many).starts_with("! "));
}

TEST(JsonMender, MendsAWholeTextOrNone) {
  bool mended = false;
  EXPECT_EQ(MendJsonObject(" {\"a\": 1}\n", &mended), "{\"a\": 1}");
  EXPECT_FALSE(mended);
  EXPECT_EQ(MendJsonObject("{'a': 1}", &mended), "{\"a\": 1}");
  EXPECT_TRUE(mended);
  for (const char* text : {"", " ", "{", "{} x", "[]", "\"x\"", "{\"a\":\"\xFF\"}"}) {
    EXPECT_EQ(MendJsonObject(text, &mended), std::nullopt) << text;
  }
}

TEST(JsonMender, WritesJsonOrNothingThatEnds) {
  const std::vector<std::string> parts = {
      "{",       "}",      "[", "]",   "\"",   "'",    ":",   "=",    ",",    " ",
      "\n",      "a",      "1", "-",   "True", "null", "\\",  "\\u",  "d8",   "\"a\"",
      "{\"a\":", "\\ud83", "d", "\\n", "<|",   "|>",   "0.5", "käse", "\x01", kQuote};
  std::mt19937 random(11);
  size_t whole = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "{";
    for (size_t n = random() % 12; n > 0; --n) text += parts[random() % parts.size()];
    JsonMender mender(round % 2 == 0 ? "" : kQuote);
    std::string json;
    for (const char c : text) {
      const Status status = mender.Push(c, &json);
      ASSERT_LE(mender.unwritten_bytes(), text.size());
      if (status == Status::kMore) continue;
      if (status == Status::kEnd) {
        ++whole;
        ASSERT_TRUE(ParseLimitedJson(json, "x").has_value()) << text << " -> " << json;
      }
      break;
    }
  }
  EXPECT_GT(whole, 300u);
}

}  // namespace
}  // namespace cairn::json_mender_test
