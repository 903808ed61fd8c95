#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace cairn {
namespace {

using Reference = nlohmann::ordered_json;

// What either library says of a text: what it is as text again, in every way, or why it is none.
struct Spoken {
  std::string error;
  std::string replaced;
  std::string indented;
  std::string ascii;
  std::string strict;  // or why it cannot be

  bool operator==(const Spoken&) const = default;
};

template <typename J>
Spoken Speak(const std::string& text) {
  using Handler = typename J::error_handler_t;
  Spoken spoken;
  try {
    const J json = J::parse(text);
    spoken.replaced = json.dump(-1, ' ', false, Handler::replace);
    spoken.indented = json.dump(2, ' ', false, Handler::replace);
    spoken.ascii = json.dump(-1, ' ', true, Handler::replace);
    try {
      spoken.strict = json.dump();
    } catch (const typename J::exception& error) {
      spoken.strict = error.what();
    }
  } catch (const typename J::exception& error) {
    spoken.error = error.what();
  }
  return spoken;
}

void ExpectSame(const std::string& text) {
  const Spoken ours = Speak<Json>(text);
  const Spoken reference = Speak<Reference>(text);
  EXPECT_EQ(ours.error, reference.error) << text;
  EXPECT_EQ(ours.replaced, reference.replaced) << text;
  EXPECT_EQ(ours.indented, reference.indented) << text;
  EXPECT_EQ(ours.ascii, reference.ascii) << text;
  EXPECT_EQ(ours.strict, reference.strict) << text;
}

// --- Texts
// ----------------------------------------------------------------------------------------

TEST(JsonTexts, NumbersAreWrittenAsNlohmannWritesThem) {
  for (const char* number : {"0",
                             "-0",
                             "1",
                             "-1",
                             "42",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "9223372036854775808",
                             "18446744073709551615",
                             "18446744073709551616",
                             "1e2",
                             "1E+2",
                             "1.0",
                             "-0.0",
                             "0.1",
                             "0.30000000000000004",
                             "1e-7",
                             "1.5e300",
                             "5e-324",
                             "123456789.125",
                             "1e15",
                             "1e16",
                             "100000000000000000000",
                             "1e999",
                             "-1e999",
                             "3.14159265358979"}) {
    ExpectSame(number);
    ExpectSame(std::string("{\"n\":[") + number + "]}");
  }
}

TEST(Json, ARepeatedMemberOfALargeObjectKeepsItsPlaceAndTakesTheLastValue) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += "\"key " + std::to_string(i) + "\":0,";
  const Json read = Json::parse(text + R"("key 3":1,"key 999":2,"key 3":3})");
  EXPECT_EQ(read.size(), 1000U);
  EXPECT_EQ(read["key 3"], Json(3));
  EXPECT_EQ(read["key 999"], Json(2));
  EXPECT_EQ(std::next(read.begin(), 3).key(), "key 3");
}

TEST(JsonTexts, StringsAreEscapedAsNlohmannEscapesThem) {
  for (int byte = 1; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const Json ours(one);
    const Reference reference(one);
    for (const bool ascii : {false, true}) {
      EXPECT_EQ(ours.dump(-1, ' ', ascii, Json::error_handler_t::replace),
                reference.dump(-1, ' ', ascii, Reference::error_handler_t::replace))
          << byte;
    }
  }
  ExpectSame(R"(["\u0000\u001f\u007f\u0080\u00e9\u20ac\ud83d\ude00 \"\\\/\b\f\n\r\t"])");
  ExpectSame("[\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"]");
}

TEST(JsonTexts, BytesThatAreNoUtf8BecomeReplacementCharactersOrAnError) {
  for (const char* bytes :
       {"\xC3", "a\xC3z", "\xE2\x82", "\xE2\x82z", "\x80", "\xC0\xAF", "\xED\xA0\x80",
        "\xF4\x90\x80\x80", "\xF0\x9F\x98", "\xFF\xFE", "ok\xC3\xA9\xE9"}) {
    const Json ours = {{"text", bytes}};
    const Reference reference = {{"text", bytes}};
    EXPECT_EQ(ToText(ours), reference.dump(-1, ' ', false, Reference::error_handler_t::replace));
    EXPECT_EQ(ToText(ours, 2), reference.dump(2, ' ', false, Reference::error_handler_t::replace));
    EXPECT_THROW(ours.dump(), JsonError);
    ExpectSame(std::string("[\"") + bytes + "\"]");
  }
}

TEST(JsonTexts, HalfOfASurrogatePairIsReadAsTheReplacementCharacter) {
  const std::string lost = "\xEF\xBF\xBD";
  const std::string smile = "\xF0\x9F\x98\x80";
  for (const auto& [text, meant] : std::vector<std::pair<std::string, std::string>>{
           {R"("\ud83d")", lost},
           {R"("\ude00")", lost},
           {R"("cut \uD83D here")", "cut " + lost + " here"},
           {R"("\ud83d\ud83d\ude00")", lost + smile},
           {R"("\ud83d\ude00\ude00")", smile + lost},
           {R"("\ude00\ud83d")", lost + lost},
           {R"("\ud83d\n\ude00")", lost + "\n" + lost},
           {R"("\ud83d\\ude00")", lost + "\\ude00"},
           {R"("\\ud83d")", "\\ud83d"},
           {R"("\\\ud83d")", "\\" + lost}}) {
    const Json json = Json::parse(text, nullptr, false);
    ASSERT_TRUE(json.is_string()) << text;
    EXPECT_EQ(json.text(), meant) << text;
  }
  EXPECT_EQ(Json::parse(R"({"\ud83d":[{"a\udfff":["\ud800"]}]})").dump(),
            "{\"" + lost + "\":[{\"a" + lost + "\":[\"" + lost + "\"]}]}");
  for (const char* text :
       {R"("\ud83)", R"("\ud83d)", R"("\ud8zz")", R"("\ud83d\u12")", R"(\ud83d)"}) {
    EXPECT_TRUE(Json::parse(text, nullptr, false).is_discarded()) << text;
  }
  const auto behind = ParseJson(R"(["\ud83d",])", {});
  ASSERT_FALSE(behind.has_value());
  EXPECT_EQ(behind.error().message, "is not valid JSON: it goes wrong at byte 11");
}

TEST(JsonTexts, OfTwoMembersOfOneNameTheLastCountsInThePlaceOfTheFirst) {
  EXPECT_EQ(Json::parse(R"({"b":1,"a":2,"b":[3]})").dump(), R"({"b":[3],"a":2})");
  ExpectSame(R"({"b":{"x":1},"a":2,"b":{"y":{"b":1,"b":2}}})");
}

TEST(JsonTexts, TextsThatAreNoJsonAreRefusedInTheSameWords) {
  for (const char* text : {"", " ", "{", "[1,", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "tru", "01",
                           "1.", "-", "\"", "\"\\x\"", "\"\n\"", "[1] 2", "nul", "'a'", "[1 2]"}) {
    ExpectSame(text);
    EXPECT_TRUE(Json::parse(text, nullptr, false).is_discarded()) << text;
    EXPECT_THROW(Json::parse(text), JsonError) << text;
  }
}

// Builds texts at random, most of them valid, some with a byte changed.
class RandomText {
 public:
  explicit RandomText(uint32_t seed) : random_(seed) {}

  std::string Next() {
    std::string text = Value(4);
    if (Below(4) == 0) text[Below(text.size())] = static_cast<char>(Below(256));
    return text;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }

  std::string Text() {
    static const std::vector<std::string> parts = {"a",
                                                   "key",
                                                   " ",
                                                   "\\n",
                                                   "\\\"",
                                                   "\\u00e9",
                                                   "\xC3\xA9",
                                                   "\xE2\x82\xAC",
                                                   "\xF0\x9F\x98\x80",
                                                   "\x7F",
                                                   "/",
                                                   "\xC3",
                                                   "\\u0000"};
    std::string text = "\"";
    for (size_t i = Below(5); i > 0; --i) text += parts[Below(parts.size())];
    return text + '"';
  }

  std::string Number() {
    std::string text = std::to_string(static_cast<int64_t>(random_()) - 2'000'000'000);
    if (Below(2) == 0) text += std::to_string(random_()) + std::to_string(random_());
    if (Below(2) == 0) text += "." + std::to_string(random_());
    if (Below(3) == 0) text += (Below(2) == 0 ? "e-" : "E") + std::to_string(Below(320));
    return text;
  }

  std::string Value(size_t depth) {
    switch (Below(depth == 0 ? 4 : 6)) {
      case 0:
        return Number();
      case 1:
        return Text();
      case 2:
        return Below(2) == 0 ? "true" : "false";
      case 3:
        return "null";
      case 4:
        return Items('[', ']', depth, false);
      default:
        return Items('{', '}', depth, true);
    }
  }

  std::string Items(char open, char close, size_t depth, bool keyed) {
    std::string text(1, open);
    for (size_t i = Below(5); i > 0; --i) {
      if (text.size() > 1) text += Below(2) == 0 ? "," : " ,\n";
      text += (keyed ? Text() + ":" : "") + Value(depth - 1);
    }
    return text + close;
  }

  std::mt19937 random_;
};

TEST(JsonTexts, RandomTextsReadAndWriteAsWithNlohmann) {
  RandomText texts(7);
  size_t valid = 0;
  for (int i = 0; i < 4000 && !testing::Test::HasFailure(); ++i) {
    const std::string text = texts.Next();
    ExpectSame(text);
    if (!Json::parse(text, nullptr, false).is_discarded()) ++valid;
  }
  EXPECT_GT(valid, 500U);
  EXPECT_LT(valid, 4000U);
}

TEST(JsonTexts, ANumberThatIsNoneIsWrittenAsNull) {
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(-std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(JsonTexts, AStreamShowsTheText) {
  std::ostringstream out;
  out << Json{{"a", "\xFF"}};
  EXPECT_EQ(out.str(), "{\"a\":\"\xEF\xBF\xBD\"}");
}

// --- Limits
// ---------------------------------------------------------------------------------------

TEST(JsonLimits, ATextBeyondALimitIsRefusedWithTheLimit) {
  const JsonLimits limits{.depth_max = 2, .object_keys_max = 2, .values_max = 4};
  const auto says = [&](const char* text) {
    const auto json = ParseJson(text, limits);
    return json ? json->dump() : json.error().message;
  };
  EXPECT_EQ(says("[[1],2]"), "[[1],2]");
  EXPECT_EQ(says("[[[]]]"), "is nested more than 2 deep");
  EXPECT_EQ(says(R"({"a":1,"a":2,"a":3})"), "has an object with more than 2 keys");
  EXPECT_EQ(says("[1,2,3,4]"), "has more than 4 values");
  EXPECT_EQ(says("[1,2,3"), "is not valid JSON: it goes wrong at byte 7");
}

TEST(JsonLimits, AValueOfAnyDepthIsDestroyed) {
  constexpr size_t kDepth = 1'000'000;
  Json json = Json::parse(std::string(kDepth, '[') + std::string(kDepth, ']'));
  EXPECT_EQ(json.size(), 1U);
  json = nullptr;
  std::string objects;
  for (size_t i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(Json::parse(objects, nullptr, false).is_discarded());
}

// --- Values
// ---------------------------------------------------------------------------------------

TEST(JsonValues, AListOfPairsThatBeginWithATextIsAnObject) {
  EXPECT_EQ(Json({{"a", 1}, {"b", nullptr}}).dump(), R"({"a":1,"b":null})");
  EXPECT_EQ(Json({{"a", 1}, {2, 3}}).dump(), R"([["a",1],[2,3]])");
  EXPECT_EQ(Json({"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json::array({"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json::array({{{"a", 1}}}).dump(), R"([{"a":1}])");
  EXPECT_EQ(Json({{"a", 1}, {"a", 2}}).dump(), R"({"a":1})");
  EXPECT_EQ(Json(std::vector<std::string>{"x", "y"}).dump(), R"(["x","y"])");
  EXPECT_EQ(Json::array().dump() + Json::object().dump() + Json().dump(), "[]{}null");
  const Json inner = {{"k", true}};
  EXPECT_EQ(Json({{"in", inner}, {"list", {inner, 1.5}}}).dump(),
            R"({"in":{"k":true},"list":[{"k":true},1.5]})");
}

TEST(JsonValues, MembersStayInTheOrderInWhichTheyCame) {
  Json json;
  json["z"] = 1;
  json["a"]["deep"] = "x";
  json["list"].push_back({1, 2});
  json["z"] = false;
  EXPECT_EQ(json.dump(), R"({"z":false,"a":{"deep":"x"},"list":[[1,2]]})");
  json.update({{"a", 3}, {"new", 4U}});
  EXPECT_EQ(json.dump(), R"({"z":false,"a":3,"list":[[1,2]],"new":4})");
  EXPECT_EQ(json.erase("z"), 1U);
  EXPECT_EQ(json.erase("z"), 0U);
  EXPECT_EQ(json.begin().key(), "a");
  EXPECT_EQ(json.value("new", 0), 4);
  EXPECT_EQ(json.value("none", "otherwise"), std::string("otherwise"));
  json["list"][3] = 7;
  EXPECT_EQ(json["list"].dump(), "[[1,2],null,null,7]");
  EXPECT_EQ(json["list"].back(), 7);
}

TEST(JsonValues, WalksItemsAndMembersAndStandsOnceOnAnythingElse) {
  Json json = {{"a", 1}, {"b", 2}};
  std::string walked;
  for (const auto& [key, value] : json.items()) {
    walked += key + value.dump();
    value = 0;
  }
  EXPECT_EQ(walked, "a1b2");
  EXPECT_EQ(json.dump(), R"({"a":0,"b":0})");
  const auto count = [](const Json& of) { return std::distance(of.begin(), of.end()); };
  EXPECT_EQ(count(Json::array({1, 2, 3})), 3);
  EXPECT_EQ(count(json), 2);
  EXPECT_EQ(count(Json("text")), 1);
  EXPECT_EQ(count(Json()) + count(Json::array()) + count(Json::object()), 0);
  EXPECT_EQ(Json().size(), 0U);
  EXPECT_EQ(Json("text").size(), 1U);
}

TEST(JsonValues, NumbersAreComparedByValueAndObjectsInTheirOrder) {
  EXPECT_EQ(Json(3), Json(3U));
  EXPECT_EQ(Json(3), Json(3.0));
  EXPECT_NE(Json(3), Json("3"));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_EQ(Json::parse("[1,{\"a\":2}]"), Json({1U, {{"a", 2.0}}}));
  EXPECT_NE(Json::parse(R"({"a":1,"b":2})"), Json::parse(R"({"b":2,"a":1})"));
  const Json discarded = Json::parse("[", nullptr, false);
  EXPECT_FALSE(discarded == discarded);
}

TEST(JsonValues, AValueIsReadAsItsOwnTypeOnly) {
  EXPECT_EQ(Json(7U).get<int>(), 7);
  EXPECT_EQ(Json(-7).get<double>(), -7.0);
  EXPECT_EQ(Json(2.75).get<int64_t>(), 2);
  EXPECT_EQ(Json({1, 2}).get<std::vector<int>>(), (std::vector<int>{1, 2}));
  EXPECT_EQ(Json("x").get<std::string>(), "x");
  EXPECT_TRUE(Json(true).get<bool>());
  const auto complaint = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const JsonError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([] { (void)Json(1).get<std::string>(); }),
            "[json.exception.type_error.302] type must be string, but is number");
  EXPECT_EQ(complaint([] { (void)Json::object().at("none"); }),
            "[json.exception.out_of_range.403] key 'none' not found");
  EXPECT_EQ(complaint([] { (void)Json::array({1}).at(1); }),
            "[json.exception.out_of_range.401] array index 1 is out of range");
  EXPECT_EQ(complaint([] { (void)Json("x").at("none"); }),
            "[json.exception.type_error.304] cannot use at() with string");
  EXPECT_EQ(complaint([] { Json("x").push_back(1); }),
            "[json.exception.type_error.308] cannot use push_back() with string");
}

TEST(JsonValues, CopiesAreTheirOwnAndMovedValuesAreNull) {
  Json json = {{"a", {1, 2}}};
  Json copy = json;
  copy["a"][0] = "changed";
  EXPECT_EQ(json.dump(), R"({"a":[1,2]})");
  const Json moved = std::move(copy);
  EXPECT_EQ(moved.dump(), R"({"a":["changed",2]})");
  EXPECT_TRUE(copy.is_null());  // NOLINT(bugprone-use-after-move)
  json = json["a"];
  EXPECT_EQ(json.dump(), "[1,2]");
}

TEST(JsonPointer, LeadsIntoTheValueOrNowhere) {
  const Json root = Json::parse(R"({"a":[{"b/c":1},2],"":3,"m~n":4})");
  const auto at = [&](const char* pointer) {
    const Json* found = FindPointer(root, pointer);
    return found == nullptr ? "nothing" : found->dump();
  };
  EXPECT_EQ(at(""), root.dump());
  EXPECT_EQ(at("/"), "3");
  EXPECT_EQ(at("/a/0/b~1c"), "1");
  EXPECT_EQ(at("/m~0n"), "4");
  for (const char* none : {"a", "/a/2", "/a/01", "/a/-", "/a/1/x", "/x", "/m~2n", "/m~", "/a/",
                           "/a/99999999999999999999"}) {
    EXPECT_EQ(at(none), "nothing") << none;
  }
}

}  // namespace
}  // namespace cairn
