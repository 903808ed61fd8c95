#include "api/anthropic/context_management.h"

#include <gtest/gtest.h>

#include <string>

#include "api/anthropic/anthropic.h"
#include "api/anthropic/anthropic_request.h"
#include "testing/api/api_fixture.h"

namespace cairn::context_management_test {
namespace {

const AnswerIdentity kIdentity = {"msg_1", "m", 1700000000};

ApiResult<ContextEdits> Read(const std::string& management) {
  return ParseContextManagement(Json::parse(R"({"context_management":)" + management + "}"));
}
ApiResult<ContextEdits> ReadEdits(const std::string& edits) {
  return Read(R"({"edits":[)" + edits + "]}");
}

TEST(ContextManagement, AnEditHasAnthropicsDefaults) {
  const auto edits = ReadEdits(R"({"type":"clear_tool_uses_20250919"})");
  ASSERT_TRUE(edits.has_value()) << edits.error().message;
  EXPECT_TRUE(edits->asked);
  EXPECT_FALSE(edits->reasoning_turns.has_value());
  ASSERT_TRUE(edits->tool_uses.has_value());
  EXPECT_EQ(edits->tool_uses->trigger, 100'000u);
  EXPECT_FALSE(edits->tool_uses->counts_uses);
  EXPECT_EQ(edits->tool_uses->keep, 3u);
  EXPECT_EQ(edits->tool_uses->clear_at_least, 0u);
  EXPECT_FALSE(edits->tool_uses->clears_inputs);
  EXPECT_EQ(ReadEdits(R"({"type":"clear_thinking_20251015"})")->reasoning_turns, 1u);
}

TEST(ContextManagement, EveryFieldIsRead) {
  const auto edits = ReadEdits(
      R"({"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":4}},
         {"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":20},
          "keep":{"type":"tool_uses","value":0},
          "clear_at_least":{"type":"input_tokens","value":5000},
          "exclude_tools":["memory","web"],"clear_tool_inputs":["write"]})");
  ASSERT_TRUE(edits.has_value()) << edits.error().message;
  EXPECT_EQ(edits->reasoning_turns, 4u);
  EXPECT_TRUE(edits->tool_uses->counts_uses);
  EXPECT_EQ(edits->tool_uses->trigger, 20u);
  EXPECT_EQ(edits->tool_uses->keep, 0u);
  EXPECT_EQ(edits->tool_uses->clear_at_least, 5000u);
  EXPECT_EQ(edits->tool_uses->excluded, (std::vector<std::string>{"memory", "web"}));
  EXPECT_EQ(edits->tool_uses->cleared_inputs, (std::vector<std::string>{"write"}));
  EXPECT_TRUE(ReadEdits(R"({"type":"clear_tool_uses_20250919","clear_tool_inputs":true,
                            "clear_at_least":null,"exclude_tools":null})")
                  ->tool_uses->clears_inputs);
}

TEST(ContextManagement, AskingForNothingIsAnsweredAllTheSame) {
  EXPECT_FALSE(ParseContextManagement(Json::object())->asked);
  EXPECT_FALSE(Read("null")->asked);
  for (const char* nothing :
       {"{}", R"({"edits":[]})", R"({"edits":null})",
        R"({"edits":[{"type":"clear_thinking_20251015","keep":"all"}]})",
        R"({"edits":[{"type":"clear_thinking_20251015","keep":{"type":"all"}}]})"}) {
    const auto edits = Read(nothing);
    ASSERT_TRUE(edits.has_value()) << nothing;
    EXPECT_TRUE(edits->asked && !edits->any()) << nothing;
  }
}

TEST(ContextManagement, WhatIsNotKnownIsRefusedByItsPlace) {
  const auto begins = [](const ApiResult<ContextEdits>& edits, const std::string& place) {
    ASSERT_FALSE(edits.has_value()) << place;
    EXPECT_EQ(edits.error().status, 400);
    EXPECT_TRUE(edits.error().message.starts_with("'context_management" + place + "' must be "))
        << edits.error().message;
  };
  const auto edit = [](const std::string& fields) {
    return ReadEdits(R"({"type":"clear_tool_uses_20250919",)" + fields + "}");
  };
  begins(Read("[]"), "");
  begins(Read(R"({"edits":{}})"), ".edits");
  begins(Read(R"({"edit":[]})"), ".edit");
  begins(ReadEdits("7"), ".edits[0]");
  begins(ReadEdits("{}"), ".edits[0].type");
  begins(ReadEdits(R"({"type":"compact_20260112"})"), ".edits[0].type");
  begins(ReadEdits(R"({"type":"clear_thinking_20991231"})"), ".edits[0].type");
  begins(ReadEdits(R"({"type":"clear_tool_uses_20250919"},{"type":"clear_tool_uses_20250919"})"),
         ".edits[1].type");
  begins(ReadEdits(R"({"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"})"),
         ".edits[1].type");
  begins(edit(R"("triger":{"type":"tool_uses","value":1})"), ".edits[0].triger");
  begins(edit(R"("trigger":1000)"), ".edits[0].trigger");
  begins(edit(R"("trigger":{"type":"turns","value":1})"), ".edits[0].trigger");
  begins(edit(R"("trigger":{"type":"tool_uses"})"), ".edits[0].trigger.value");
  begins(edit(R"("trigger":{"type":"tool_uses","value":0})"), ".edits[0].trigger.value");
  begins(edit(R"("trigger":{"type":"tool_uses","value":1,"of":"x"})"), ".edits[0].trigger.of");
  begins(edit(R"("keep":{"type":"input_tokens","value":1})"), ".edits[0].keep");
  begins(edit(R"("keep":{"type":"tool_uses","value":-1})"), ".edits[0].keep.value");
  begins(edit(R"("keep":{"type":"tool_uses","value":1.5})"), ".edits[0].keep.value");
  begins(edit(R"("clear_at_least":{"type":"tool_uses","value":1})"), ".edits[0].clear_at_least");
  begins(edit(R"("exclude_tools":"memory")"), ".edits[0].exclude_tools");
  begins(edit(R"("exclude_tools":[1])"), ".edits[0].exclude_tools");
  begins(edit(R"("clear_tool_inputs":1)"), ".edits[0].clear_tool_inputs");
  begins(ReadEdits(R"({"type":"clear_thinking_20251015","keep":"some"})"), ".edits[0].keep");
  begins(ReadEdits(R"({"type":"clear_thinking_20251015","keep":{"type":"turns","value":1}})"),
         ".edits[0].keep");
  begins(ReadEdits(R"({"type":"clear_thinking_20251015","keep":{"type":"thinking_turns",
                       "value":0}})"),
         ".edits[0].keep.value");
}

// On an engine where a token is a byte, with a context of 4,096.
class ClearedToolUsesTest : public ApiTest {
 protected:
  static std::string Message(const std::string& role, const std::string& block) {
    return R"({"role":")" + role + R"(","content":[)" + block + "]}";
  }
  // A question, and so many calls with results of 300 letters.
  static std::string Fields(int uses, const std::string& management) {
    std::string messages = R"({"role":"user","content":"Read them all."})";
    for (int i = 0; i < uses; ++i) {
      const std::string id = "\"t" + std::to_string(i) + "\"";
      messages += "," + Message("assistant", R"({"type":"tool_use","id":)" + id +
                                                 R"(,"name":"read","input":{"n":)" +
                                                 std::to_string(i) + "}}");
      messages += "," + Message("user", R"({"type":"tool_result","tool_use_id":)" + id +
                                            R"(,"content":")" + std::string(300, 'r') + "\"}");
    }
    return R"({"max_tokens":4,"messages":[)" + messages + "]" + management + "}";
  }
  static std::string Edit(const std::string& fields) {
    return R"(,"context_management":{"edits":[{"type":"clear_tool_uses_20250919",)" + fields +
           "}]}";
  }
  static std::string AboveTokens(int tokens) {
    return Edit(R"("trigger":{"type":"input_tokens","value":)" + std::to_string(tokens) +
                R"(},"keep":{"type":"tool_uses","value":2})");
  }

  ApiResult<StartedChat> StartMessages(const std::string& body) {
    auto request = ParseMessagesRequest(Body(body), GenerationParams{});
    if (!request) return tl::unexpected(request.error());
    return service_.Start(std::move(*request), 0);
  }
  Json Answer(const std::string& body) {
    auto chat = StartMessages(body);
    EXPECT_TRUE(chat.has_value()) << chat.error().message;
    if (!chat) return Json();
    const auto whole = CollectMessage(std::move(*chat), kIdentity, [] { return false; });
    EXPECT_TRUE(whole.has_value());
    return whole ? Json::parse(*whole) : Json();
  }
  Json Count(const std::string& body) {
    const auto counted = CountTokensBody(service_, body, 0);
    EXPECT_TRUE(counted.has_value()) << counted.error().message;
    return counted ? Json::parse(*counted) : Json();
  }
  // An edit that six uses trigger, and five do not.
  std::string AtSixUses() {
    const int five = Count(Fields(5, ""))["input_tokens"].get<int>();
    const int six = Count(Fields(6, ""))["input_tokens"].get<int>();
    return AboveTokens((five + six) / 2);
  }
  static int PromptTokens(const Json& answer) {
    const Json& usage = answer["usage"];
    return usage["input_tokens"].get<int>() + usage["cache_read_input_tokens"].get<int>();
  }
};

TEST_F(ClearedToolUsesTest, AnAnswerTellsWhatWasCleared) {
  const Json whole = Answer(Fields(6, ""));
  EXPECT_FALSE(whole.contains("context_management"));
  const Json cleared = Answer(Fields(6, AtSixUses()));
  const Json applied = cleared["context_management"]["applied_edits"];
  ASSERT_EQ(applied.size(), 1u) << cleared;
  EXPECT_EQ(applied[0]["type"], "clear_tool_uses_20250919");
  EXPECT_EQ(applied[0]["cleared_tool_uses"], 4);
  EXPECT_EQ(applied[0]["cleared_input_tokens"].get<int>(),
            PromptTokens(whole) - PromptTokens(cleared));
  EXPECT_EQ(Answer(Fields(2, AtSixUses()))["context_management"]["applied_edits"], Json::array());
}

TEST_F(ClearedToolUsesTest, AStreamTellsItAtItsEnd) {
  auto chat = StartMessages(Fields(6, AtSixUses()));
  ASSERT_TRUE(chat.has_value());
  MessageStream stream(std::move(*chat), kIdentity);
  std::string events;
  while (stream.Next(&events)) {
  }
  const size_t delta = events.find("event: message_delta");
  ASSERT_NE(delta, std::string::npos);
  EXPECT_EQ(events.find("\"context_management"),
            events.find(R"("context_management":{"applied_edits":[{"type":)"
                        R"("clear_tool_uses_20250919","cleared_tool_uses":4,)",
                        delta));
}

TEST_F(ClearedToolUsesTest, CountedTokensAreThoseOfThePromptAndOfTheOriginal) {
  const int original = Count(Fields(6, ""))["input_tokens"].get<int>();
  const Json counted = Count(Fields(6, AtSixUses()));
  EXPECT_EQ(counted["context_management"]["original_input_tokens"].get<int>(), original);
  EXPECT_EQ(counted["input_tokens"].get<int>(), PromptTokens(Answer(Fields(6, AtSixUses()))));
  EXPECT_LT(counted["input_tokens"].get<int>(), original - 1000);
  EXPECT_FALSE(Count(Fields(6, "")).contains("context_management"));
  EXPECT_FALSE(CountTokensBody(service_, Fields(1, Edit(R"("keep":1)")), 0).has_value());
}

// The next turns send everything again, and what was cleared stays as it was.
TEST_F(ClearedToolUsesTest, BetweenTwoStepsEachTurnReusesTheOneBefore) {
  int steps = 0;
  int cleared = 0;
  // Of more uses even what is left of them would exceed the trigger.
  for (int uses = 1; uses <= 12; ++uses) {
    const Json answer = Answer(Fields(uses, AboveTokens(2600)));
    EXPECT_LE(PromptTokens(answer), 2600 + uses);
    const Json applied = answer["context_management"]["applied_edits"];
    const int now = applied.empty() ? 0 : applied[0]["cleared_tool_uses"].get<int>();
    if (now != cleared) {
      ++steps;
    } else if (uses > 1) {
      // A use is some 400 tokens, and its call was generated otherwise than it is sent.
      EXPECT_LT(answer["usage"]["input_tokens"].get<int>(), 520) << uses;
    }
    cleared = now;
  }
  EXPECT_GE(steps, 3);
  EXPECT_GE(cleared, 9);
}

TEST_F(ClearedToolUsesTest, AConversationThatIsTooLongFitsOnceItsResultsAreCleared) {
  EXPECT_FALSE(StartMessages(Fields(20, "")).has_value());
  EXPECT_TRUE(StartMessages(Fields(20, AboveTokens(3500))).has_value());
}

}  // namespace
}  // namespace cairn::context_management_test
