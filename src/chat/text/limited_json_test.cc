#include "chat/text/limited_json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cairn {
namespace {

TEST(LimitedJson, KeepsTheOrderOfKeys) {
  const auto json = ParseLimitedJson(R"({"z":1,"a":[true,null,"x"]})", "tools");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->dump(), R"({"z":1,"a":[true,null,"x"]})");
}

TEST(LimitedJson, NamesTheFieldAndThePlaceWhereItGoesWrong) {
  const auto json = ParseLimitedJson("[1,", "tools");
  ASSERT_FALSE(json.has_value());
  EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(json.error().message.find("tools is not valid JSON"), std::string::npos)
      << json.error().message;
}

TEST(LimitedJson, RefusesWhatIsTooDeepWithoutRecursion) {
  const std::string deep(1'000'000, '[');
  EXPECT_NE(ParseLimitedJson(deep, "x").error().message.find("64 deep"), std::string::npos);
  EXPECT_TRUE(ParseLimitedJson(std::string(64, '[') + std::string(64, ']'), "x").has_value());
  EXPECT_FALSE(ParseLimitedJson(std::string(65, '[') + std::string(65, ']'), "x").has_value());
}

TEST(LimitedJson, RefusesTooManyKeysAndTooManyValues) {
  const JsonLimits limits{.depth_max = 4, .object_keys_max = 2, .values_max = 5};
  EXPECT_TRUE(ParseLimitedJson(R"({"a":1,"b":2})", "x", limits).has_value());
  EXPECT_FALSE(ParseLimitedJson(R"({"a":1,"b":2,"c":3})", "x", limits).has_value());
  EXPECT_TRUE(ParseLimitedJson("[1,2,3,4]", "x", limits).has_value());
  EXPECT_FALSE(ParseLimitedJson("[1,2,3,4,5]", "x", limits).has_value());
}

TEST(LimitedJson, RefusesNumbersThatNoTypeHolds) {
  EXPECT_FALSE(ParseLimitedJson("[1e999]", "x").has_value());
}

TEST(LimitedJson, DoesNotTakeAZeroByteForTheEnd) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"2\0"sv, "{}\0{}"sv, "\0"sv, "\"\0\""sv}) {
    const auto json = ParseLimitedJson(text, "the request body");
    ASSERT_FALSE(json.has_value());
    EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(ParseLimitedJson("[1]\0"sv, "x").error().message,
            "x is not valid JSON: byte 3 is zero, which JSON writes as \\u0000.");
}

}  // namespace
}  // namespace cairn
