#include "chat/text/canonical.h"

#include "base/json.h"
#include "testing/chat/test_templates.h"

namespace cairn::canonical_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

std::string Rest(std::string_view text) {
  return std::string(WithoutBillingHeader(text));
}

TEST(Canonical, ABlockThatIsOnlyTheBillingHeaderGoes) {
  // As sent by version 2.1.329, its sub-agents, 2.1.177 and 2.1.100.
  EXPECT_EQ(Rest("x-anthropic-billing-header: cc_version=2.1.329.298; cc_entrypoint=sdk-cli;"), "");
  EXPECT_EQ(Rest("x-anthropic-billing-header: cc_version=2.1.329.3c4; cc_entrypoint=sdk-cli; "
                 "cc_is_subagent=true;"),
            "");
  EXPECT_EQ(Rest("x-anthropic-billing-header: cc_version=2.1.177.e5a; cc_entrypoint=sdk-cli; "
                 "cch=632e2;\n"),
            "");
  EXPECT_EQ(Rest("x-anthropic-billing-header: cc_version=2.1.100.96d; cch=00000"), "");
  EXPECT_EQ(Rest("x-anthropic-billing-header:"), "");
}

TEST(Canonical, WhatFollowsTheBillingHeaderStays) {
  EXPECT_EQ(Rest("x-anthropic-billing-header: cc_version=2.1.9; cch=a5145;You are Claude Code."),
            "You are Claude Code.");
  EXPECT_EQ(Rest("x-anthropic-billing-header: a=b; c=d; \n\nYou are x=1; no item"),
            "You are x=1; no item");
  EXPECT_EQ(Rest("\nx-anthropic-billing-header:a=b;c=d;Next: e=f;"), "Next: e=f;");
  EXPECT_EQ(Rest("x-anthropic-billing-header: not items at all"), "not items at all");
}

TEST(Canonical, OtherTextIsLeftAlone) {
  for (const std::string_view text : {"", " You are x=1;", "About x-anthropic-billing-header: a=b;",
                                      "x-anthropic-billing: a=b;"}) {
    EXPECT_EQ(Rest(text), text);
  }
}

TEST(Canonical, HeadersThatDifferRenderTheSamePrompt) {
  const auto prompt = [](const std::string& header, const CanonicalOptions& options) {
    Conversation talk{.messages = {System(header + "You are brief."), User("Hi")}};
    MakeCanonical(options, &talk);
    return Render(*Builtin("qwen"), talk);
  };
  const std::string first = "x-anthropic-billing-header: v=1.a; cch=11111;";
  const std::string second = "x-anthropic-billing-header: v=1.b; cch=22222; new=1;";
  EXPECT_EQ(prompt(first, {}), prompt(second, {}));
  EXPECT_EQ(prompt(first, {}), prompt("", {}));
  const CanonicalOptions keep{.keep_billing_header = true};
  EXPECT_NE(prompt(first, keep), prompt(second, keep));
}

TEST(Canonical, AMessageThatWasOnlyTheHeaderGoesAndOthersDoNot) {
  const std::string header = "x-anthropic-billing-header: a=b;";
  Conversation talk{.messages = {System(header), System("S"), User(header), System("")}};
  MakeCanonical({}, &talk);
  ASSERT_EQ(talk.messages.size(), 3u);
  EXPECT_EQ(talk.messages[0].content, "S");
  EXPECT_EQ(talk.messages[1].content, header);  // text that a person writes is not changed
  Conversation alone{.messages = {System(header)}};
  MakeCanonical({}, &alone);
  ASSERT_EQ(alone.messages.size(), 1u);
  EXPECT_EQ(alone.messages[0].content, "");
}

TEST(Canonical, AMarkerRightBehindTheHeaderStays) {
  const auto medium = MakeMedium(MediumKind::kImage, {1, 2, 3}, "system[1]");
  const std::string marker = MarkerOf(*medium);
  for (const char* header :
       {"x-anthropic-billing-header: a=b;", "x-anthropic-billing-header: a=b"}) {
    Conversation talk{.messages = {System(header), User("Hi")}};
    AppendMarker(medium, &talk.messages[0].content, &talk.messages[0].media);
    MakeCanonical({}, &talk);
    ASSERT_EQ(talk.messages.size(), 2u);
    EXPECT_EQ(talk.messages[0].content, marker);
    ASSERT_EQ(talk.messages[0].media.size(), 1u);
    EXPECT_EQ(talk.messages[0].media[0].begin, 0u);
    EXPECT_EQ(talk.messages[0].media[0].end, marker.size());
  }
  Conversation plain{.messages = {System("x-anthropic-billing-header: a=b" + marker), User("Hi")}};
  MakeCanonical({}, &plain);
  EXPECT_EQ(plain.messages.size(), 1u) << "without the medium it is the header's text";
}

TEST(Canonical, TakesTheHeaderOutOfAListOfBlocks) {
  std::vector<std::string> blocks = {"x-anthropic-billing-header: a=b;", "You are.", "", "Rules."};
  DropBillingHeader(&blocks);
  EXPECT_EQ(blocks, (std::vector<std::string>{"You are.", "", "Rules."}));
}

TEST(Canonical, CacheMarksInToolsDoNotReachThePrompt) {
  const std::string plain =
      R"([{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
      R"("properties":{"id":{"type":"string"},"cache_control":{"type":"string"}}}}}])";
  std::string marked = plain;
  marked.insert(2, R"("cache_control":{"type":"ephemeral"},"metadata":{"n":1},)");
  marked.insert(marked.find(R"("name")"), R"("id":"x7","cache_\u0063ontrol":{"ttl":"1h"},)");
  Conversation talk{.messages = {User("Hi")}, .tools = Tools::Parse(marked).value()};
  MakeCanonical({}, &talk);
  EXPECT_EQ(talk.tools.text(), plain);
}

TEST(SortedJsonText, IsTheSameWhateverTheOrderOfKeys) {
  const auto sorted = [](const char* text) { return SortedJsonText(Json::parse(text)); };
  EXPECT_EQ(sorted(R"({"b": [2, {"d": 1, "c": {}}], "a": [], "": "x\n"})"),
            R"({"":"x\n","a":[],"b":[2,{"c":{},"d":1}]})");
  EXPECT_EQ(sorted(R"({"a": [], "": "x\u000a", "b": [2, {"c": {}, "d": 1}]})"),
            R"({"":"x\n","a":[],"b":[2,{"c":{},"d":1}]})");
  EXPECT_NE(sorted("[1, 2]"), sorted("[2, 1]"));
  EXPECT_NE(sorted("[1]"), sorted("[1.0]"));
  EXPECT_NE(sorted("[\"1\"]"), sorted("[1]"));
  EXPECT_EQ(sorted("null"), "null");
}

}  // namespace
}  // namespace cairn::canonical_test
