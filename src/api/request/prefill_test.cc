#include "api/request/prefill.h"

#include "api/answer/answer_reader.h"
#include "api/anthropic/anthropic_request.h"
#include "testing/api/api_fixture.h"

namespace cairn::prefill_test {
namespace {

const std::string kAsked = R"({"role":"user","content":"What is a cairn?"})";
const std::string kBegun = R"({"role":"assistant","content":"A cairn is"})";
const std::string kCalls =
    R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]})";

ApiResult<PromptEnd> EndOf(const std::string& messages, const std::string& fields = "") {
  const auto conversation =
      ParseConversation(Json::parse("{\"messages\":[" + messages + "]" + fields + "}"));
  if (!conversation) return tl::unexpected(conversation.error());
  return conversation->end;
}

std::string MistakeOf(const std::string& messages, const std::string& fields) {
  const auto end = EndOf(messages, fields);
  EXPECT_FALSE(end.has_value());
  return end ? "" : end.error().field;
}

TEST(PromptEnds, AreSaidByTwoFields) {
  const std::string both = kAsked + "," + kBegun;
  EXPECT_EQ(EndOf(both), PromptEnd::kUsual);
  EXPECT_EQ(EndOf(both, R"(,"continue_final_message":true)"), PromptEnd::kOpenMessage);
  EXPECT_EQ(EndOf(both, R"(,"continue_final_message":true,"add_generation_prompt":false)"),
            PromptEnd::kOpenMessage);
  EXPECT_EQ(EndOf(both, R"(,"continue_final_message":false)"), PromptEnd::kUsual);
  EXPECT_EQ(EndOf(both, R"(,"add_generation_prompt":false)"), PromptEnd::kUsual);
  EXPECT_EQ(EndOf(kAsked, R"(,"add_generation_prompt":false)"), PromptEnd::kLastMessage);
  EXPECT_EQ(EndOf(kAsked, R"(,"add_generation_prompt":true)"), PromptEnd::kUsual);
}

TEST(PromptEnds, ThatCannotBeAreErrors) {
  EXPECT_EQ(MistakeOf(kAsked, R"(,"continue_final_message":true)"), "continue_final_message");
  EXPECT_EQ(MistakeOf(kAsked + "," + kCalls, R"(,"continue_final_message":true)"),
            "continue_final_message");
  EXPECT_EQ(MistakeOf(kAsked + "," + kBegun,
                      R"(,"continue_final_message":true,"add_generation_prompt":true)"),
            "add_generation_prompt");
  EXPECT_EQ(MistakeOf(kAsked, R"(,"add_generation_prompt":"no")"), "add_generation_prompt");
}

TEST(PromptEnds, LeftToTheServerAreInsideAnAssistantsMessage) {
  const auto settled = [](bool prefills, Message last) {
    Conversation conversation{.messages = {{.content = "What is a cairn?"}, std::move(last)},
                              .end = PromptEnd::kUsual};
    SettlePromptEnd(prefills, &conversation);
    return std::pair(conversation.end, conversation.messages.size());
  };
  const Message begun = {.role = Role::kAssistant, .content = "A"};
  EXPECT_EQ(settled(true, begun), std::pair(PromptEnd::kOpenMessage, size_t{2}));
  EXPECT_EQ(settled(false, begun), std::pair(PromptEnd::kGenerationPrompt, size_t{2}));
  EXPECT_EQ(settled(true, {.role = Role::kAssistant, .reasoning = "A"}),
            std::pair(PromptEnd::kOpenMessage, size_t{2}));
  EXPECT_EQ(settled(true, {.role = Role::kAssistant}),
            std::pair(PromptEnd::kGenerationPrompt, size_t{1}));
  EXPECT_EQ(settled(true, {.role = Role::kAssistant, .tool_calls = {{"1", "f", "{}"}}}),
            std::pair(PromptEnd::kGenerationPrompt, size_t{2}));
  EXPECT_EQ(settled(true, {.content = "And?"}), std::pair(PromptEnd::kGenerationPrompt, size_t{2}));
}

TEST(PromptEnds, ReasoningIsOverOnceItIsClosedOrThereIsContent) {
  EXPECT_FALSE(EndsReasoning({}, "<a>", ""));
  EXPECT_FALSE(EndsReasoning({}, "<a><think>\n", ""));
  EXPECT_TRUE(EndsReasoning({}, "<a><think>\n\n</think>\n\n", ""));
  EXPECT_TRUE(EndsReasoning({}, "<a></think>", ""));
  EXPECT_FALSE(EndsReasoning({}, "<a><think>\n", "Let me"));
  EXPECT_FALSE(EndsReasoning({}, "<a>", "\n<think>Let me"));
  EXPECT_TRUE(EndsReasoning({}, "<a>", "A cairn is"));
  EXPECT_TRUE(EndsReasoning({}, "<a>", "<think>Hm.</think>"));
  EXPECT_TRUE(EndsReasoning({}, "<a><think>\n", "\n</think>\n\nA cairn"));
}

// On a template that writes the last answer as it writes every other.
class PrefillTest : public ApiTest {
 protected:
  std::string Prompt(const std::string& fields) {
    const auto conversation = ParseConversation(Body("{" + fields + "}"));
    EXPECT_TRUE(conversation.has_value());
    const auto prompt = chat_.Render(*conversation);
    EXPECT_TRUE(prompt.has_value()) << prompt.error().message;
    return prompt ? *prompt : "";
  }

  const std::unique_ptr<ChatTemplate> chatml_ =
      *ChatTemplate::Parse(std::string(*BuiltinTemplate("chatml")), "", engine_.info().eos_text);
  const ChatService chat_{&engine_, chatml_.get(), &scheduler_};
};

TEST_F(PrefillTest, ThePromptEndsInsideTheMessage) {
  const std::string messages = "\"messages\":[" + kAsked + "," + kBegun + "]";
  const std::string prompt = Prompt(messages);
  EXPECT_TRUE(prompt.ends_with("<|im_start|>assistant\nA cairn is")) << prompt;
  EXPECT_EQ(Prompt(messages + R"(,"continue_final_message":true)"), prompt);
  EXPECT_TRUE(Prompt("\"messages\":[" + kAsked + R"(],"add_generation_prompt":false)")
                  .ends_with("What is a cairn?<|im_end|>\n"));
}

TEST_F(PrefillTest, AnAnswerGoesOnFromTheMessageAndIsReadFromTheCacheWithIt) {
  const auto ask = [&](const std::string& last, const std::string& more) {
    auto request = ParseChatRequest(
        Body(R"({"max_tokens":4,"messages":[)" + kAsked + "," + last + more + "]}"), {});
    EXPECT_TRUE(request.has_value());
    auto chat = chat_.Start(std::move(*request), 0);
    EXPECT_TRUE(chat.has_value());
    return *CollectAnswer(std::move(*chat), [] { return false; });
  };
  const WholeAnswer first = ask(kBegun, "");
  EXPECT_FALSE(first.content.starts_with("A cairn is"));
  EXPECT_EQ(first.end.cost.generated_tokens, 4u);
  const Json whole = {{"role", "assistant"}, {"content", "A cairn is" + first.content}};
  const WholeAnswer second = ask(whole.dump(), R"(,{"role":"user","content":"And?"})");
  EXPECT_GE(second.end.cost.reused_tokens, first.end.cost.prompt_tokens + 3);
}

TEST_F(PrefillTest, ALastMessageOfTheAssistantIsAPrefillInAnthropicsMessagesToo) {
  const auto conversation =
      ParseMessagesConversation(Body(R"({"messages":[{"role":"user","content":"Hi."},
                           {"role":"assistant","content":[{"type":"text","text":"Well,"}]}]})"));
  ASSERT_TRUE(conversation.has_value());
  EXPECT_TRUE(chat_.Render(*conversation)->ends_with("<|im_start|>assistant\nWell,"));
}

TEST_F(PrefillTest, TheMessageIsOpenedAsTheTemplateOpensTheLastAnswer) {
  const auto conversation =
      ParseConversation(Body("{\"messages\":[" + kAsked + "," + kBegun + "]}"));
  const auto prompt = service_.Render(*conversation);
  ASSERT_TRUE(prompt.has_value());
  EXPECT_TRUE(prompt->ends_with("<|im_start|>assistant\n<think>\n\n</think>\n\nA cairn is"))
      << *prompt;
}

TEST_F(PrefillTest, WithoutItAnotherAnswerFollowsTheMessage) {
  ChatServiceOptions options;
  options.prompt.prefill_assistant = false;
  const ChatService service(&engine_, template_.get(), &scheduler_, options);
  const auto conversation =
      ParseConversation(Body("{\"messages\":[" + kAsked + "," + kBegun + "]}"));
  EXPECT_TRUE(
      service.Render(*conversation)->ends_with("A cairn is<|im_end|>\n<|im_start|>assistant\n"));
  const auto asked = ParseConversation(
      Body("{\"messages\":[" + kAsked + "," + kBegun + R"(],"continue_final_message":true})"));
  EXPECT_TRUE(service.Render(*asked)->ends_with("A cairn is"));
}

}  // namespace
}  // namespace cairn::prefill_test
