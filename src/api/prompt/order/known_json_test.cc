#include "api/prompt/order/known_json.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::known_json_test {
namespace {

std::string Shown(KnownJson* known, const std::string& text, const std::string& kind = "",
                  NamespaceId name_space = 1) {
  return known->Respell(name_space, kind, text).value_or(text);
}

const std::string kFirst = R"({"name": "f", "of": {"b": [1, {"y": 1, "x": "é"}], "a": null}})";
const std::string kOther = R"({"of":{"a":null,"b":[1,{"x":"\u00e9","y":1}]},"name":"f"})";

TEST(KnownJson, TheSameValueIsShownAsTheFirstText) {
  KnownJson known(1 << 20);
  EXPECT_EQ(Shown(&known, kFirst), kFirst);
  EXPECT_EQ(Shown(&known, kOther), kFirst);
  EXPECT_EQ(Shown(&known, kOther), kFirst);
  EXPECT_EQ(Shown(&known, kFirst), kFirst);
}

TEST(KnownJson, AnotherMeaningStays) {
  KnownJson known(1 << 20);
  EXPECT_EQ(Shown(&known, kFirst), kFirst);
  for (const std::string text :
       {R"({"name": "f", "of": {"b": [{"y": 1, "x": "é"}, 1], "a": null}})",    // an array's order
        R"({"name": "f", "of": {"b": [1, {"y": 1.0, "x": "é"}], "a": null}})",  // another number
        R"({"name": "f", "of": {"b": [1, {"y": "1", "x": "é"}], "a": null}})",
        R"({"name": "f", "of": {"b": [1, {"y": 1, "x": "é"}]}})", "no JSON", R"({"name": "f)"}) {
    EXPECT_EQ(Shown(&known, text), text);
  }
}

TEST(KnownJson, NumbersThatADoubleWouldRoundStay) {
  KnownJson known(1 << 20);
  for (const std::string text :
       {R"({"id": 123456789012345678901, "a": 1})", R"({"a": 1, "id": 123456789012345678902})",
        R"({"x": 0.1234567890123456781, "a": 1})", R"({"a": 1, "x": 0.1234567890123456782})"}) {
    EXPECT_EQ(Shown(&known, text), text);
  }
  EXPECT_EQ(known.bytes(), 0u);
  const std::string safe = R"({"maximum": 9007199254740991, "minimum": -0.5})";
  EXPECT_EQ(Shown(&known, safe), safe);
  EXPECT_EQ(Shown(&known, R"({"minimum":-0.5,"maximum":9007199254740991})"), safe);
}

TEST(KnownJson, KindsAndNamespacesKnowNothingOfEachOther) {
  KnownJson known(1 << 20);
  EXPECT_EQ(Shown(&known, kFirst, "f", 1), kFirst);
  EXPECT_EQ(Shown(&known, kOther, "g", 1), kOther);
  EXPECT_EQ(Shown(&known, kOther, "f", 2), kOther);
  EXPECT_EQ(Shown(&known, kOther, "f", 1), kFirst);
}

TEST(KnownJson, ATextThatIsRememberedStaysBesideAnEarlierOne) {
  KnownJson known(1 << 20);
  known.Remember(1, "", kFirst);
  known.Remember(1, "", kOther);
  EXPECT_EQ(Shown(&known, kFirst), kFirst);
  EXPECT_EQ(Shown(&known, kOther), kOther);
  EXPECT_EQ(Shown(&known, R"({"of": {"a": null, "b": [1, {"x": "é", "y": 1}]}, "name": "f"})"),
            kFirst);
}

TEST(KnownJson, ForgetsTheTextThatWasUnusedForLongest) {
  const auto first = [](int i) { return R"({"a": 1, "i": )" + std::to_string(i) + "}"; };
  const auto other = [](int i) { return R"({"i": )" + std::to_string(i) + R"(, "a": 1})"; };
  KnownJson known(1000);  // three
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Shown(&known, first(i)), first(i));
  EXPECT_EQ(Shown(&known, other(0)), first(0));
  EXPECT_EQ(Shown(&known, first(3)), first(3));
  EXPECT_LE(known.bytes(), 1000u);
  EXPECT_EQ(Shown(&known, other(0)), first(0));
  EXPECT_EQ(Shown(&known, other(2)), first(2));
  EXPECT_EQ(Shown(&known, other(1)), other(1));
  const std::string large = R"({"a": ")" + std::string(KnownJson::kTextBytesMax, 'x') + "\"}";
  EXPECT_EQ(Shown(&known, large), large);
  EXPECT_LE(known.bytes(), 1000u);
}

TEST(KnownJson, WithoutRoomEveryTextStays) {
  KnownJson known(0);
  EXPECT_EQ(Shown(&known, kFirst), kFirst);
  known.Remember(1, "", kFirst);
  EXPECT_EQ(Shown(&known, kOther), kOther);
  EXPECT_EQ(known.bytes(), 0u);
}

}  // namespace
}  // namespace cairn::known_json_test
