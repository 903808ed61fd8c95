#include "chat/template/template_turns.h"

#include <gtest/gtest.h>

#include "testing/chat/test_templates.h"

namespace cairn::template_turns_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

// "system:S1|user:U1"; calls and reasoning in brackets behind the text.
std::string Shown(const std::vector<Message>& messages, const TemplateCaps& caps,
                  std::string_view tools_json = "[]") {
  std::string text;
  const Conversation talk{.messages = messages, .tools = Tools::Parse(tools_json).value()};
  for (const TemplateTurn& turn : TurnsForTemplate(talk, caps)) {
    const Message& message = turn.message;
    text += (text.empty() ? "" : "|") + std::string(RoleName(message.role)) + ":" + message.content;
    if (!message.reasoning.empty()) text += "(" + message.reasoning + ")";
    for (const ToolCall& call : message.tool_calls) {
      text += "[" + call.id + " " + call.name + call.arguments + "]";
    }
    if (!message.tool_call_id.empty()) text += "[" + message.tool_call_id + "]";
  }
  return text;
}

// What a template with tools does.
TemplateCaps Caps(LateSystem late_system) {
  TemplateCaps caps;
  caps.tools = caps.tool_calls = caps.tool_responses = true;
  caps.late_system = late_system;
  return caps;
}

const char kReminder[] = "<system-reminder>\nL\n</system-reminder>";

TEST(TemplateTurns, LeadingSystemAndDeveloperMessagesBecomeOne) {
  const std::vector<Message> talk = {System("S"), Developer("D"), Developer("E"), User("U")};
  EXPECT_EQ(Shown(talk, Caps(LateSystem::kInPlace)), "system:S\n\nD\n\nE|user:U");
  TemplateCaps caps = Caps(LateSystem::kDropped);
  caps.developer_role = true;
  EXPECT_EQ(Shown({Developer("D"), System("S"), User("U")}, caps), "developer:D\n\nS|user:U");
  caps.system_role = false;
  EXPECT_EQ(Shown(talk, caps), "user:S\n\nD\n\nE\n\nU");
}

TEST(TemplateTurns, LateSystemMessagesStayWhereTheTemplateShowsThem) {
  EXPECT_EQ(Shown({System("S"), User("U"), Developer("L"), Assistant("A"), System("L")},
                  Caps(LateSystem::kInPlace)),
            "system:S|user:U|system:L|assistant:A|system:L");
}

TEST(TemplateTurns, ALateSystemMessageJoinsTheTurnBesideIt) {
  const std::string reminder = kReminder;
  for (const LateSystem late : {LateSystem::kRefused, LateSystem::kDropped, LateSystem::kHoisted,
                                LateSystem::kStrictTurns}) {
    const TemplateCaps caps = Caps(late);
    EXPECT_EQ(Shown({User("U"), System("L"), Assistant("A")}, caps),
              "user:U\n\n" + reminder + "|assistant:A");
    EXPECT_EQ(Shown({User("U"), Assistant("A"), System("L"), User("V")}, caps),
              "user:U|assistant:A|user:" + reminder + "\n\nV");
    EXPECT_EQ(Shown({User("U"), Call("f", "{}"), ToolAnswer("T"), Developer("L")}, caps),
              "user:U|assistant:[call00001 f{}]|tool:T\n\n" + reminder + "[call00001]");
    EXPECT_EQ(Shown({User("U"), Call("f", "{}"), System("L"), ToolAnswer("T")}, caps),
              "user:U|assistant:[call00001 f{}]|tool:T\n\n" + reminder + "[call00001]");
    EXPECT_EQ(Shown({User("U"), Assistant("A"), System("L"), Assistant("B")}, caps),
              "user:U|assistant:A|user:" + reminder + "|assistant:B");
    EXPECT_EQ(Shown({User("U"), Assistant("A"), System("L"), System("L")}, caps),
              "user:U|assistant:A|user:" + reminder + "\n\n" + reminder);
    EXPECT_EQ(Shown({User(""), System("L"), System(" \n")}, caps), "user:" + reminder);
  }
}

TEST(TemplateTurns, TurnsOfOneRoleAreOneWhereTheTemplateInsistsOnTurns) {
  const TemplateCaps caps = Caps(LateSystem::kStrictTurns);
  EXPECT_EQ(Shown({User("U"), User("V"), Assistant("A", "R"), Assistant("B"), User("W")}, caps),
            "user:U\n\nV|assistant:A\n\nB(R)|user:W");
  EXPECT_EQ(
      Shown({User("U"), Assistant("A"), Call("f", "{}"), ToolAnswer("T"), ToolAnswer("T")}, caps),
      "user:U|assistant:A[call00001 f{}]|tool:T[call00001]|tool:T[call00001]");
  EXPECT_EQ(Shown({User("U"), User("V")}, Caps(LateSystem::kRefused)), "user:U|user:V");
}

TEST(TemplateTurns, AUserBehindAToolsResultJoinsItWhereTheTemplateRefusesThat) {
  TemplateCaps caps = Caps(LateSystem::kStrictTurns);
  const std::vector<Message> talk = {User("U"), Call("f", "{}"), ToolAnswer("T"), User("V")};
  EXPECT_EQ(Shown(talk, caps), "user:U|assistant:[call00001 f{}]|tool:T[call00001]|user:V");
  caps.no_user_after_tool = true;
  EXPECT_EQ(Shown(talk, caps), "user:U|assistant:[call00001 f{}]|tool:T\n\nV[call00001]");
}

TEST(TemplateTurns, IdsOfCallsAreNineCharactersWhereTheTemplateWantsThat) {
  TemplateCaps caps = Caps(LateSystem::kInPlace);
  Message call = Call("f", "{}");
  Message answer = ToolAnswer("T");
  caps.short_call_ids = true;
  EXPECT_EQ(Shown({call, answer}, caps), "assistant:[call00001 f{}]|tool:T[call00001]");
  call.tool_calls[0].id = answer.tool_call_id = "toolu_0123-0";
  const auto turns = TurnsForTemplate({.messages = {call, answer}}, caps);
  const std::string id = turns[0].message.tool_calls[0].id;
  EXPECT_EQ(id.size(), 9u);
  EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
            std::string::npos);
  EXPECT_EQ(turns[1].message.tool_call_id, id);
  call.tool_calls[0].id = "toolu_0123-1";
  EXPECT_NE(TurnsForTemplate({.messages = {call}}, caps)[0].message.tool_calls[0].id, id);
}

TEST(TemplateTurns, ParallelCallsComeOneByOneWhereAMessageMayHaveOne) {
  TemplateCaps caps = Caps(LateSystem::kInPlace);
  Message calls = Call("f", "{}");
  calls.tool_calls.push_back({"b", "g", "{}"});
  calls.tool_calls.push_back({"c", "h", "{}"});
  Message second = ToolAnswer("T2");
  second.tool_call_id = "b";
  const std::vector<Message> talk = {User("U"), calls, ToolAnswer("T1"), second, User("V")};
  EXPECT_EQ(Shown(talk, caps),
            "user:U|assistant:[call00001 f{}][b g{}][c h{}]|tool:T1[call00001]|tool:T2[b]|user:V");
  caps.single_calls = true;
  EXPECT_EQ(Shown(talk, caps),
            "user:U|assistant:[call00001 f{}]|tool:T1[call00001]|assistant:[b g{}]|tool:T2[b]|"
            "assistant:[c h{}]|user:V");
}

TEST(TemplateTurns, AnEmptyAnswerIsLeftOutWhereTheTemplateRefusesIt) {
  TemplateCaps caps = Caps(LateSystem::kStrictTurns);
  const std::vector<Message> talk = {User("U"), Assistant(" "), User("V"), Call("f", "{}")};
  EXPECT_EQ(Shown(talk, caps), "user:U|assistant: |user:V|assistant:[call00001 f{}]");
  caps.no_empty_answers = true;
  EXPECT_EQ(Shown(talk, caps), "user:U\n\nV|assistant:[call00001 f{}]");
}

TEST(TemplateTurns, TextBesideACallJoinsItsReasoningWhereTheTemplateTakesOnlyOneOfThem) {
  TemplateCaps caps = Caps(LateSystem::kDropped);
  Message call = Call("f", "{}", "R");
  call.content = "C";
  EXPECT_EQ(Shown({call}, caps), "assistant:C(R)[call00001 f{}]");
  caps.no_text_beside_thinking = true;
  EXPECT_EQ(Shown({call}, caps), "assistant:(R\n\nC)[call00001 f{}]");
  EXPECT_EQ(Shown({Assistant("C", "R")}, caps), "assistant:C(R)");
}

TEST(TemplateTurns, ToolsAreTextForATemplateThatKnowsNone) {
  const TemplateCaps caps;
  const std::string shown =
      Shown({System("S"), User("U"), Call("f\"", " {\"a\": 1}\n"), ToolAnswer("T")}, caps, "[1]");
  EXPECT_EQ(shown.rfind("system:S\n\n# Tools\n", 0), 0u) << shown;
  EXPECT_NE(shown.find("<tools>\n[1]\n</tools>"), std::string::npos) << shown;
  const std::string rest =
      "|user:U|assistant:<tool_call>\n{\"name\": \"f\\\"\", \"arguments\": {\"a\": "
      "1}}\n</tool_call>"
      "|user:<tool_response>\nT\n</tool_response>";
  EXPECT_TRUE(shown.ends_with(rest)) << shown;
  EXPECT_EQ(Shown({User("U")}, caps, "[1]").rfind("system:# Tools", 0), 0u);
  EXPECT_EQ(Shown({User("U")}, Caps(LateSystem::kInPlace), "[1]"), "user:U");
}

TEST(TemplateTurns, NameTheMessageThatEachBeganAs) {
  const auto turns = TurnsForTemplate(
      {.messages = {System("S"), System("S"), User("U"), System("L"), Assistant("A"), System("L")}},
      Caps(LateSystem::kRefused));
  std::vector<size_t> indices;
  for (const TemplateTurn& turn : turns) indices.push_back(turn.index);
  EXPECT_EQ(indices, (std::vector<size_t>{0, 2, 4, 5}));
}

}  // namespace
}  // namespace cairn::template_turns_test
