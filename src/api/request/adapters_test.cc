#include "api/request/adapters.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace cairn::adapters_test {
namespace {

AdapterSets Two() {
  return AdapterSets({{"a.gguf", "d1", "task", "prefix"}, {"b.gguf", "d2", "", ""}}, {1, 0});
}

ApiResult<AdapterSets::Number> SetOf(const std::string& lora, AdapterSets* sets) {
  const auto options = ParseAnswerOptions(Json::parse(lora), LogprobsField::kNative);
  if (!options) return tl::unexpected(options.error());
  return FindAdapterSet(options->adapters, sets);
}

std::string RefusalOf(const std::string& lora, AdapterSets* sets) {
  const auto set = SetOf(lora, sets);
  return set ? "" : set.error().message;
}

TEST(AdaptersApi, ARequestChoosesItsScalesAndOthersAreNotApplied) {
  AdapterSets sets = Two();
  EXPECT_EQ(*SetOf("{}", &sets), 0u);
  EXPECT_EQ(*sets.ScalesOf(*SetOf(R"({"lora": [{"id": 1, "scale": 0.5}]})", &sets)),
            (AdapterScales{0, 0.5}));
  EXPECT_EQ(*sets.ScalesOf(*SetOf(R"({"lora": []})", &sets)), (AdapterScales{0, 0}));
  EXPECT_EQ(*SetOf(R"({"lora": [{"id": 0, "scale": 1}]})", &sets), 0u);
  EXPECT_EQ(*SetOf(R"({"lora": null})", &sets), 0u);
}

TEST(AdaptersApi, WhatIsNoScaleOfAnAdapterIsNamed) {
  AdapterSets sets = Two();
  for (const char* wrong :
       {R"({"lora": {}})", R"({"lora": [1]})", R"({"lora": [{"id": 0}]})",
        R"({"lora": [{"scale": 1}]})", R"({"lora": [{"id": -1, "scale": 1}]})",
        R"({"lora": [{"id": 2, "scale": 1}]})", R"({"lora": [{"id": 0, "scale": "1"}]})",
        R"({"lora": [{"id": 0, "scale": 1e30}]})"}) {
    EXPECT_NE(RefusalOf(wrong, &sets).find("lora"), std::string::npos) << wrong;
  }
}

TEST(AdaptersApi, AServerWithoutAdaptersTakesNone) {
  EXPECT_EQ(*SetOf("{}", nullptr), 0u);
  EXPECT_EQ(*SetOf(R"({"lora": []})", nullptr), 0u);
  EXPECT_NE(RefusalOf(R"({"lora": [{"id": 0, "scale": 1}]})", nullptr).find("without --lora"),
            std::string::npos);
  EXPECT_EQ(AdaptersBody(nullptr), "[]");
}

TEST(AdaptersApi, TheScalesOfTheServerAreSetAndShown) {
  AdapterSets sets = Two();
  EXPECT_EQ(Json::parse(AdaptersBody(&sets))[0]["scale"].get<double>(), 1);
  EXPECT_EQ(Json::parse(AdaptersBody(&sets))[0]["prompt_prefix"].text(), "prefix");
  ASSERT_TRUE(SetAdaptersBody(R"([{"id": 1, "scale": 0.25}])", &sets).has_value());
  EXPECT_EQ(Json::parse(AdaptersBody(&sets))[0]["scale"].get<double>(), 0);
  EXPECT_EQ(Json::parse(AdaptersBody(&sets))[1]["scale"].get<double>(), 0.25);
  EXPECT_EQ(*sets.ScalesOf(*SetOf("{}", &sets)), (AdapterScales{0, 0.25}));
  for (const char* wrong : {"", "{}", "[", R"([{"id": 7, "scale": 1}])"})
    EXPECT_FALSE(SetAdaptersBody(wrong, &sets).has_value()) << wrong;
}

}  // namespace
}  // namespace cairn::adapters_test
