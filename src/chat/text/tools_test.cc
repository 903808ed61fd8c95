#include "chat/text/tools.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "chat/text/limited_json.h"

namespace cairn::tools_test {
namespace {

std::string Named(const std::string& name) {
  return R"({"type":"function","function":{"name":")" + name + R"("}})";
}

Tools AB() {
  return Tools::Parse("[" + Named("a") + "," + Named("b") + "]").value();
}

TEST(Tools, AreNoneByDefaultAndOfAnEmptyList) {
  for (const Tools& none : {Tools(), Tools(Json::array()), Tools::Parse("[ ]").value()}) {
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.size(), 0u);
    EXPECT_EQ(none.text(), "");
    EXPECT_EQ(none.hash(), Hash64(""));
    EXPECT_TRUE(none.list().is_array());
    EXPECT_EQ(none, Tools());
  }
}

TEST(Tools, ShowTheListTheTextAndItsHash) {
  const Tools tools = Tools::Parse(R"( [ {"z" : 1, "a": "\u00e9"} ] )").value();
  EXPECT_FALSE(tools.empty());
  EXPECT_EQ(tools.list(), Json::parse(R"([{"z":1,"a":"é"}])"));
  EXPECT_EQ(tools.text(), R"([{"z":1,"a":"é"}])");
  EXPECT_EQ(tools.hash(), Hash64(tools.text()));
  EXPECT_EQ(tools, Tools::Parse(tools.text()).value());
  EXPECT_FALSE(tools == AB());
}

TEST(Tools, ACopySharesTheParsedList) {
  const Tools tools = AB();
  const Tools copy = tools;  // NOLINT: the copy is what is tested
  EXPECT_EQ(&copy.list(), &tools.list());
}

TEST(Tools, SayInTheNameOfTheFieldWhatIsWrong) {
  EXPECT_EQ(Tools::Parse("{}").error().message, "tools must be an array of tool definitions.");
  EXPECT_EQ(Tools::Make(Json(1)).error().message, "tools must be an array of tool definitions.");
  EXPECT_EQ(Tools::Parse("[1,").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Tools::Parse("[1,").error().message.rfind("tools is not valid JSON", 0), 0u);
  std::string list = "[";
  for (size_t i = 0; i < JsonLimits().values_max; ++i) list += i == 0 ? "1" : ",1";
  list += "]";
  EXPECT_EQ(Tools::Parse(list).error().message, "tools has more than 200000 values.");
  EXPECT_EQ(Tools::Make(Json::parse(list)).error().message, Tools::Parse(list).error().message);
}

TEST(Tools, FindAFunctionByItsNameAndIgnoreOtherEntries) {
  const Tools tools =
      Tools::Parse(R"([1,{"function":{}},{"function":{"name":2}},{"name":"b"},)" + Named("b") + "]")
          .value();
  ASSERT_NE(tools.FindFunction("b"), nullptr);
  EXPECT_EQ(tools.FindFunction("b")->dump(), R"({"name":"b"})");
  EXPECT_EQ(tools.FindFunction("c"), nullptr);
  EXPECT_EQ(Tools().FindFunction("b"), nullptr);
}

TEST(Tools, GiveNewOnesInAnotherOrderAndOfSomeNames) {
  const Tools tools = AB();
  EXPECT_EQ(tools.Reordered({1, 0}).text(), "[" + Named("b") + "," + Named("a") + "]");
  EXPECT_EQ(tools.Named({"b", "x"}).text(), "[" + Named("b") + "]");
  EXPECT_TRUE(tools.Named({"x"}).empty());
  EXPECT_EQ(tools, AB());
}

TEST(Tools, LoseMembersOfTheirOwnButNotOfTheirSchemas) {
  constexpr std::array<std::string_view, 2> kNames = {"id", "note"};
  const Tools plain =
      Tools::Parse(R"([{"function":{"name":"f","parameters":{"properties":{"id":{}}}}},7])")
          .value();
  const Tools noted = Tools::Parse(R"([{"id":1,"function":{"name":"f","n\u006fte":2,)"
                                   R"("parameters":{"properties":{"id":{}}}}},7])")
                          .value();
  EXPECT_EQ(noted.WithoutMembers(kNames), plain);
  EXPECT_EQ(plain.WithoutMembers(kNames), plain);
  const Tools tools = AB();
  EXPECT_EQ(&tools.WithoutMembers(kNames).list(), &tools.list());  // nothing to remove: no copy
}

TEST(JsonLimits, OfAValueAreThoseOfItsText) {
  const JsonLimits limits{.depth_max = 3, .object_keys_max = 2, .values_max = 5};
  for (const char* text :
       {"[]", "[[[1]]]", "[[[[1]]]]", R"([{"a":1,"b":2}])", R"([{"a":1,"b":2,"c":3}])", "[1,2,3,4]",
        "[1,2,3,4,5]", "[[1,2],[3]]", R"({"a":[1,2,3],"b":4})", "1"}) {
    const auto parsed = ParseLimitedJson(text, "tools", limits);
    const auto checked = CheckJsonLimits(Json::parse(text), "tools", limits);
    ASSERT_EQ(checked.has_value(), parsed.has_value()) << text;
    if (parsed) continue;
    EXPECT_EQ(checked.error().message, parsed.error().message) << text;
  }
}

}  // namespace
}  // namespace cairn::tools_test
