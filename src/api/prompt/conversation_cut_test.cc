#include "api/prompt/conversation_cut.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat/template/builtin_templates.h"
#include "testing/base/golden_file.h"
#include "testing/engine/fake_engine.h"

namespace cairn::conversation_cut_test {
namespace {

class ConversationCutTest : public ::testing::Test {
 protected:
  static constexpr size_t kContext = 4096;

  static FakeEngineOptions EngineOptions() {
    FakeEngineOptions options;
    options.context_tokens = kContext;
    return options;
  }

  static Conversation Begun() {
    Conversation conversation;
    conversation.messages = {{.role = Role::kSystem, .content = std::string(300, 's')}};
    return conversation;
  }
  static void Say(Role role, const std::string& content, Conversation* conversation) {
    conversation->messages.push_back({.role = role, .content = content});
  }
  // A turn of about 400 tokens, its number in it.
  static void AddTurn(size_t number, Conversation* conversation) {
    const std::string name = "turn " + std::to_string(number) + " ";
    Say(Role::kUser, name + std::string(100, 'q'), conversation);
    Say(Role::kAssistant, name + std::string(250, 'a'), conversation);
  }

  size_t PromptTokens(const Conversation& conversation) const {
    return engine_.Tokenize(*template_->Render(conversation, true), true, true)->size();
  }

  const FakeEngine engine_{EngineOptions()};
  const std::unique_ptr<ChatTemplate> template_ =
      *ChatTemplate::Parse(std::string(*BuiltinTemplate("qwen")), "", engine_.info().eos_text);
  const MessageSizes sizes_{&engine_, template_.get()};
  const ConversationCut cut_{&engine_, &sizes_};
};

TEST_F(ConversationCutTest, LeavesAConversationThatFitsAsItIs) {
  Conversation conversation = Begun();
  for (size_t i = 0; i < 7; ++i) AddTurn(i, &conversation);
  EXPECT_LT(PromptTokens(conversation), kContext * 8 / 10);
  EXPECT_EQ(cut_.Apply(0, &conversation).dropped, 0u);
  EXPECT_EQ(conversation.messages.size(), 15u);
  EXPECT_FALSE(cut_.Planned(0, conversation).has_value());
}

TEST_F(ConversationCutTest, DropsTheOldestTurnsInOneStepAndStaysThere) {
  Conversation conversation = Begun();
  std::string first_kept;
  size_t steps = 0;
  std::optional<Conversation> planned;
  for (size_t turn = 0; turn < 40; ++turn) {
    const std::string name = "turn " + std::to_string(turn) + " ";
    Say(Role::kUser, name + std::string(100, 'q'), &conversation);
    Conversation cut = conversation;
    const ConversationCut::Applied applied = cut_.Apply(0, &cut);
    EXPECT_EQ(cut.messages.size() + applied.dropped, conversation.messages.size());
    EXPECT_LT(PromptTokens(cut) + 100, kContext);
    EXPECT_EQ(cut.messages[0].role, Role::kSystem);
    EXPECT_EQ(cut.messages[1].role, Role::kUser);
    EXPECT_EQ(cut.messages.back().content, conversation.messages.back().content);
    const std::string& first = cut.messages[1].content;
    EXPECT_EQ(applied.anew, turn > 0 && first != first_kept);
    if (first != first_kept) {
      ++steps;
      // What was announced is what is done.
      if (steps > 1) {
        ASSERT_TRUE(planned.has_value());
        EXPECT_EQ(planned->messages[1].content, first);
        EXPECT_LT(PromptTokens(cut), kContext * 7 / 10);
      }
    }
    first_kept = first;
    planned = cut_.Planned(0, conversation);
    Say(Role::kAssistant, name + std::string(250, 'a'), &conversation);
    if (const auto after = cut_.Planned(0, conversation)) planned = after;
  }
  // 40 turns of 400 tokens; a step drops some four of them.
  EXPECT_GT(steps, 5u);
  EXPECT_LT(steps, 12u);
}

TEST_F(ConversationCutTest, NeverPartsAToolsResultFromItsCall) {
  Conversation conversation = Begun();
  Say(Role::kUser, std::string(1500, 'q'), &conversation);
  for (int i = 0; i < 3; ++i) {
    Message call{.role = Role::kAssistant};
    call.tool_calls = {{"id", "read", R"({"path": "x"})"}};
    conversation.messages.push_back(call);
    conversation.messages.push_back(
        {.role = Role::kTool, .content = std::string(400, 'r'), .tool_call_id = "id"});
  }
  Say(Role::kAssistant, std::string(800, 'a'), &conversation);
  Say(Role::kUser, "the last", &conversation);
  EXPECT_EQ(cut_.Apply(0, &conversation).dropped, 8u);
  ASSERT_EQ(conversation.messages.size(), 2u);
  EXPECT_EQ(conversation.messages[1].content, "the last");
}

TEST_F(ConversationCutTest, CountsReasoningWhetherTheTemplateShowsItOrNot) {
  const auto with = [](const std::string& reasoning) {
    Conversation conversation = Begun();
    for (size_t i = 0; i < 8; ++i) AddTurn(i, &conversation);
    conversation.messages[2].reasoning = reasoning;
    Say(Role::kUser, "next", &conversation);
    return conversation;
  };
  Conversation plain = with("");
  Conversation reasoned = with(std::string(1500, 't'));
  EXPECT_EQ(cut_.Apply(0, &plain).dropped, 0u);
  EXPECT_GT(cut_.Apply(0, &reasoned).dropped, 0u);
}

TEST_F(ConversationCutTest, LeavesALastTurnThatDoesNotFitToTheUsualError) {
  Conversation conversation = Begun();
  AddTurn(0, &conversation);
  Say(Role::kUser, std::string(5000, 'q'), &conversation);
  EXPECT_EQ(cut_.Apply(0, &conversation).dropped, 2u);
  EXPECT_EQ(cut_.Apply(0, &conversation).dropped, 0u);
  EXPECT_GT(PromptTokens(conversation), kContext);
}

TEST_F(ConversationCutTest, CutsMoreWhereItIsAskedTo) {
  Conversation loose = Begun();
  for (size_t i = 0; i < 9; ++i) AddTurn(i, &loose);
  Conversation tight = loose;
  EXPECT_LT(cut_.Apply(0, &loose).dropped,
            cut_.Apply(0, &tight, ConversationCut::kTightest).dropped);
  Conversation only_system = Begun();
  EXPECT_EQ(cut_.Apply(0, &only_system, ConversationCut::kTightest).dropped, 0u);
}

// One line a request: what is left out, what will be, and how long the prompt is.
TEST_F(ConversationCutTest, GoesThroughALongConversationAsWrittenDown) {
  Conversation conversation = Begun();
  std::string text = "turn  dropped  planned  tokens of 4096\n";
  for (size_t turn = 0; turn < 30; ++turn) {
    Say(Role::kUser, std::string(100 + 37 * (turn % 5), 'q'), &conversation);
    Conversation cut = conversation;
    const auto applied = cut_.Apply(0, &cut);
    const auto planned = cut_.Planned(0, conversation);
    const std::string plan =
        planned ? std::to_string(conversation.messages.size() - planned->messages.size()) : "-";
    text += std::to_string(turn) + "  " + std::to_string(applied.dropped) +
            (applied.anew ? " anew  " : "  ") + plan + "  " + std::to_string(PromptTokens(cut)) +
            "\n";
    Say(Role::kAssistant, std::string(150 + 61 * (turn % 7), 'a'), &conversation);
  }
  ExpectGolden("conversation_cuts.txt", text);
}

}  // namespace
}  // namespace cairn::conversation_cut_test
