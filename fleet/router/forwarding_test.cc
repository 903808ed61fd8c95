#include "fleet/router/forwarding.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace cairn {
namespace {

std::string ModelIn(std::string_view body) {
  const NamedModel model = RequestModel(body);
  if (model.kind == NamedModel::Kind::kNone) return "(none)";
  if (model.kind == NamedModel::Kind::kNoString) return "(no string)";
  return model.name;
}

TEST(RequestModel, IsTheMemberModelOfTheBody) {
  EXPECT_EQ(ModelIn(R"({"model":"qwen"})"), "qwen");
  EXPECT_EQ(ModelIn(R"(  { "max_tokens" : 5, "model" : "a b" , "stream": true})"), "a b");
  EXPECT_EQ(ModelIn(R"({"model":"first","model":"last"})"), "last");
}

TEST(RequestModel, IsNotAMemberFurtherInside) {
  EXPECT_EQ(ModelIn(R"({"messages":[{"model":"inner","content":"\"model\":\"text\""}]})"),
            "(none)");
  EXPECT_EQ(ModelIn(R"({"a":{"b":["model","]}"]},"model":"outer","c":[[]]})"), "outer");
  EXPECT_EQ(ModelIn(R"({"a":"\\","model":"outer"})"), "outer");
}

TEST(RequestModel, ReadsEscapes) {
  EXPECT_EQ(ModelIn(R"({"m\u006fdel":"\u0071\"\\"})"), "q\"\\");
}

TEST(RequestModel, IsNoneInOtherBodies) {
  for (const char* body : {"", "[]", "{}", "null", "\"model\"", "{\"model\"", "{\"model\":",
                           "{\"model\":null}", "{model:\"x\"}", "not json", "{\"a\":\"b"}) {
    EXPECT_EQ(ModelIn(body), "(none)") << body;
  }
}

TEST(RequestModel, SaysThatItIsNoString) {
  EXPECT_EQ(ModelIn(R"({"model":5})"), "(no string)");
  EXPECT_EQ(ModelIn(R"({"model":{"name":"x"}})"), "(no string)");
  EXPECT_EQ(ModelIn(R"({"model":true})"), "(no string)");
}

TEST(RequestModel, AgreesWithAParserForEveryBodyOfSomeKinds) {
  const std::vector<Json> values = {Json("text \"with\" \\ marks, {} and []"),
                                    Json(-1.5e3),
                                    Json(nullptr),
                                    Json(true),
                                    Json::array({"model", Json::object()}),
                                    {{"model", "inner"}, {"x", {{"model", 3}}}},
                                    Json("the model")};
  for (const Json& before : values) {
    for (const Json& named : values) {
      for (const int indent : {-1, 2}) {
        const Json body = {{"before", before}, {"model", named}, {"after", before}};
        const std::string expected = named.is_string() ? named.text()
                                     : named.is_null() ? "(none)"
                                                       : "(no string)";
        EXPECT_EQ(ModelIn(body.dump(indent)), expected) << body.dump(indent);
      }
    }
  }
}

TEST(RequestModel, SurvivesEveryBeginningOfABody) {
  const std::string body =
      R"({"a":[{"b":"\u00e4\\"}],"model":"x\ny","c":1.5e3,"d":{"e":[null,true]}})";
  for (size_t size = 0; size <= body.size(); ++size) {
    const std::string model = ModelIn(body.substr(0, size));
    EXPECT_TRUE(model == "(none)" || model == "x\ny" || model == "(no string)") << model;
  }
}

}  // namespace
}  // namespace cairn
