#include "api/request/reasoning_request.h"

#include <gtest/gtest.h>

#include "api/answer/answer_reader.h"
#include "api/answer/cost_json.h"
#include "api/anthropic/anthropic_request.h"
#include "api/openai/responses_request.h"
#include "testing/api/api_fixture.h"

namespace cairn::reasoning_request_test {
namespace {

constexpr char kKnown[] = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'";

std::string ChatError(const std::string& fields) {
  const auto request = ParseChatRequest(
      Json::parse(R"({"messages":[{"role":"user","content":"hi"}],)" + fields + "}"), {});
  return request ? "" : request.error().message;
}
std::string ResponsesError(const std::string& fields) {
  const auto request = ParseResponsesRequest(Json::parse(R"({"input":"hi",)" + fields + "}"), {});
  return request ? "" : request.error().message;
}
std::string MessagesError(const std::string& fields) {
  const auto request = ParseMessagesRequest(
      Json::parse(R"({"max_tokens":1,"messages":[{"role":"user","content":"hi"}],)" + fields + "}"),
      {});
  return request ? "" : request.error().message;
}

void ExpectNamesKnown(const std::string& error, const std::string& field) {
  EXPECT_NE(error.find("'" + field + "'"), std::string::npos) << error;
  EXPECT_NE(error.find(kKnown), std::string::npos) << error;
}

TEST(ReasoningRequest, AnUnknownEffortIsRefusedWithTheKnownOnes) {
  ExpectNamesKnown(ChatError(R"("reasoning_effort":"most")"), "reasoning_effort");
  ExpectNamesKnown(ChatError(R"("reasoning_effort":7)"), "reasoning_effort");
  ExpectNamesKnown(ResponsesError(R"("reasoning":{"effort":"most"})"), "reasoning.effort");
  ExpectNamesKnown(MessagesError(R"("output_config":{"effort":"most"})"), "output_config.effort");
  EXPECT_EQ(ChatError(R"("reasoning_effort":"xhigh")"), "");
  EXPECT_EQ(ChatError(R"("reasoning_effort":null)"), "");
  EXPECT_EQ(ResponsesError(R"("reasoning":{"effort":"minimal","summary":"auto"})"), "");
  EXPECT_EQ(ResponsesError(R"("reasoning":null)"), "");
  EXPECT_EQ(MessagesError(R"("output_config":{"effort":"max"})"), "");
}

TEST(ReasoningRequest, AnUnknownKindOfThinkingIsRefusedWithTheKnownOnes) {
  const std::string error = MessagesError(R"("thinking":{"type":"some"})");
  EXPECT_NE(error.find("'enabled', 'disabled', 'adaptive', 'between_tools'"), std::string::npos)
      << error;
  EXPECT_NE(MessagesError(R"("thinking":{"type":"enabled","budget_tokens":-1})"), "");
  EXPECT_NE(MessagesError(R"("thinking":{"type":"enabled","budget_tokens":"9"})"), "");
  EXPECT_EQ(MessagesError(R"("thinking":{"type":"adaptive"})"), "");
}

TEST(ReasoningRequest, ABudgetIsAWholeNumberFromMinusOne) {
  for (const char* budget : {"-2", "1.5", "\"9\"", "99999999999999999", "true"}) {
    EXPECT_NE(ChatError(R"("thinking_budget_tokens":)" + std::string(budget)), "") << budget;
  }
  GenerationParams defaults;
  defaults.reasoning.tokens_max = 50;
  const auto budget = [&](const std::string& fields) {
    return ParseChatRequest(
               Json::parse(R"({"messages":[{"role":"user","content":"hi"}])" + fields + "}"),
               defaults)
        ->params.reasoning.tokens_max;
  };
  EXPECT_EQ(budget(""), 50u);
  EXPECT_EQ(budget(R"(,"thinking_budget_tokens":-1)"), 50u);
  EXPECT_EQ(budget(R"(,"thinking_budget_tokens":0)"), 0u);
  EXPECT_EQ(budget(R"(,"thinking_budget_tokens":7)"), 7u);
}

// On a service whose template opens reasoning in the generation prompt.
class ReasoningService : public ApiTest {
 protected:
  static constexpr char kSource[] =
      "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + "
      "'<|im_end|>\\n' }}{%- endfor %}{{- (tools | tojson) if tools else '' }}"
      "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
      "{{- '<think></think>' if enable_thinking is defined and not enable_thinking else '<think>' "
      "}}"
      "{%- endif %}";

  ReasoningService() { Serve({}); }

  void Serve(const ChatServiceOptions& options) {
    thinking_ = *ChatTemplate::Parse(kSource, "", "");
    own_ = std::make_unique<ChatService>(&engine_, thinking_.get(), &scheduler_, options);
  }

  std::vector<WholeAnswer> Ask(const std::string& fields) {
    auto request = ParseChatRequest(
        Body(R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":40)" + fields + "}"), {});
    EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message);
    auto chat = own_->Start(std::move(*request), 0);
    EXPECT_TRUE(chat.has_value()) << (chat ? "" : chat.error().message);
    auto answers = CollectAnswers(std::move(*chat), [] { return false; });
    EXPECT_TRUE(answers.has_value()) << (answers ? "" : answers.error().message);
    return *answers;
  }
  std::string Prompt(const std::string& fields) {
    return *own_->Render(
        *ParseConversation(Body(R"({"messages":[{"role":"user","content":"hi"}])" + fields + "}")));
  }

  std::unique_ptr<ChatTemplate> thinking_;
  std::unique_ptr<ChatService> own_;
};

constexpr char kTools[] = R"(,"tools":[{"type":"function","function":{"name":"weather",)"
                          R"("parameters":{"type":"object"}}}])";

TEST_F(ReasoningService, KeepsABudgetToTheToken) {
  for (const size_t budget : {0, 1, 5, 20}) {
    const std::string asked = R"(,"thinking_budget_tokens":)" + std::to_string(budget);
    for (const std::string& fields : {asked, asked + kTools, asked + R"(,"n":3)"}) {
      for (const WholeAnswer& answer : Ask(fields)) {
        EXPECT_EQ(answer.end.cost.reasoning_tokens, budget) << fields;
        EXPECT_EQ(answer.end.cost.generated_tokens, 40u) << fields;
        EXPECT_FALSE(answer.content.empty()) << fields;
      }
    }
  }
}

TEST_F(ReasoningService, CountsReasoningInEveryUsage) {
  EXPECT_EQ(Ask("").front().end.cost.reasoning_tokens, 40u);
  GenerationCost cost;
  const auto answers = Ask(R"(,"n":3,"thinking_budget_tokens":6)");
  for (size_t i = 0; i < answers.size(); ++i) AddAnswerCost(i, answers[i].end.cost, &cost);
  EXPECT_EQ(UsageJson(cost)["completion_tokens_details"]["reasoning_tokens"], 18);
  EXPECT_EQ(UsageJson(cost)["completion_tokens"], 120);
}

TEST_F(ReasoningService, NoneTurnsReasoningOffInTheTemplate) {
  EXPECT_TRUE(Prompt(R"(,"reasoning_effort":"none")").ends_with("<think></think>"));
  EXPECT_TRUE(Prompt(R"(,"reasoning_effort":"high")").ends_with("<think>"));
  EXPECT_EQ(Ask(R"(,"reasoning_effort":"none")").front().end.cost.reasoning_tokens, 0u);
}

TEST_F(ReasoningService, ARequestsOwnWordsWinOverTheFlags) {
  ChatServiceOptions options;
  options.prompt.template_kwargs_json = R"({"enable_thinking":false})";
  Serve(options);
  EXPECT_TRUE(Prompt("").ends_with("<think></think>"));
  EXPECT_TRUE(Prompt(R"(,"chat_template_kwargs":{"enable_thinking":true})").ends_with("<think>"));
  EXPECT_TRUE(Prompt(R"(,"reasoning_effort":"low")").ends_with("<think>"));
  options.prompt.template_kwargs_json = "";
  options.prompt.reasoning_effort = "none";
  Serve(options);
  EXPECT_TRUE(Prompt("").ends_with("<think></think>"));
  EXPECT_EQ(Ask("").front().end.cost.reasoning_tokens, 0u);
  EXPECT_TRUE(Prompt(R"(,"reasoning_effort":"low")").ends_with("<think>"));
}

TEST_F(ReasoningService, NoUsualEffortClosesReasoningThatARequestTurnsOn) {
  ChatServiceOptions options;
  options.prompt.reasoning_effort = "none";
  Serve(options);
  const auto answers = Ask(R"(,"chat_template_kwargs":{"enable_thinking":true})");
  EXPECT_EQ(answers.front().end.cost.reasoning_tokens, 40u);
}

// As DeepSeek V3.1: off where its switch is not set.
constexpr char kOffByItself[] =
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{{- '<think>' if thinking is defined and thinking else '</think>' }}{%- endif %}";

TEST_F(ReasoningService, IsOnUnlessAskedOtherwise) {
  thinking_ = *ChatTemplate::Parse(kOffByItself, "", "");
  ChatServiceOptions options;
  const auto serve = [&] {
    own_ = std::make_unique<ChatService>(&engine_, thinking_.get(), &scheduler_, options);
  };
  serve();
  EXPECT_TRUE(Prompt("").ends_with("<think>"));
  EXPECT_TRUE(Prompt(R"(,"chat_template_kwargs":{"mood":"calm"})").ends_with("<think>"));
  EXPECT_EQ(Ask("").front().end.cost.reasoning_tokens, 40u);
  for (const char* off :
       {R"(,"reasoning_effort":"none")", R"(,"chat_template_kwargs":{"thinking":false})",
        R"(,"chat_template_kwargs":{"enable_thinking":false})",
        R"(,"chat_template_kwargs":{"reasoning_effort":"none"})"}) {
    EXPECT_TRUE(Prompt(off).ends_with("</think>")) << off;
    EXPECT_EQ(Ask(off).front().end.cost.reasoning_tokens, 0u) << off;
  }
  options.prompt.reasoning_effort = "none";
  serve();
  EXPECT_TRUE(Prompt("").ends_with("</think>"));
  options.prompt.reasoning_effort = "";
  options.prompt.template_kwargs_json = R"({"enable_thinking":false})";
  serve();
  EXPECT_TRUE(Prompt("").ends_with("</think>"));
  EXPECT_TRUE(Prompt(R"(,"reasoning_effort":"high")").ends_with("<think>"));
  EXPECT_TRUE(Prompt(R"(,"chat_template_kwargs":{"thinking":true})").ends_with("<think>"));
}

TEST_F(ReasoningService, JoinsThePartsOfATextAsTheTemplateDoesInEveryTurn) {
  const auto prompt = [&](const std::string& more) {
    return *own_->Render(*ParseConversation(
        Body(R"({"messages":[{"role":"user","content":[{"type":"text","text":"What is"},)"
             R"({"type":"text","text":"the best"}]})" +
             more + "]}")));
  };
  const std::string question = "<|im_start|>user\nWhat is\nthe best<|im_end|>\n";
  EXPECT_TRUE(prompt("").starts_with(question)) << prompt("");
  EXPECT_TRUE(prompt(R"(,{"role":"assistant","content":"A"},{"role":"user","content":"B"})")
                  .starts_with(question));
}

TEST_F(ReasoningService, SaysOnceWhyAnEffortChangesNothing) {
  ChatServiceOptions options;
  std::vector<std::string> said;
  options.prompt.log = [&](LogLevel /*level*/, std::string_view text) { said.emplace_back(text); };
  Serve(options);
  for (int i = 0; i < 3; ++i) Prompt(R"(,"reasoning_effort":"high")");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said.front().find("'high'"), std::string::npos) << said.front();
}

TEST(ReasoningOf, EndsHarmonysReasoningWithAMessageOfAnotherChannel) {
  AnswerFormat format;
  format.calls = CallFormat::kHarmony;
  const ReasoningParams final_only = ReasoningOf(format, {});
  EXPECT_EQ(final_only.closing, "<|end|><|start|>assistant<|channel|>final<|message|>");
  format.tools = Tools::Parse("[1]").value();
  EXPECT_EQ(ReasoningOf(format, {}).closing, "<|end|><|start|>assistant");
  EXPECT_EQ(ReasoningOf(format, {}).closing_again, final_only.closing);
}

}  // namespace
}  // namespace cairn::reasoning_request_test
