// Reasoning budgets on the real libllama, combined with other constraints on tokens.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/answer/answer_reader.h"
#include "api/service/chat_service.h"
#include "chat/template/reasoning_controls.h"
#include "engine/llama/llama_engine.h"
#include "sched/scheduler.h"
#include "testing/chat/family_templates.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

class ReasoningLlama : public ::testing::Test {
 protected:
  void SetUp() override {
    LlamaOptions llama = test::SmallOptions(test::MadeModel("llama"));
    llama.slots = 2;
    auto engine = LlamaEngine::Load(llama);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    engine_ = std::move(*engine);
    cache_ = std::make_unique<CheckpointCache>(CacheOptions{}, *MakePlacement("near-end"),
                                               *MakeEviction("lru"), MakeRamStore());
    scheduler_ =
        std::make_unique<Scheduler>(engine_.get(), cache_.get(), &clock_, SchedulerOptions{});
    template_ = *ChatTemplate::Parse(
        "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + "
        "message.content + '<|im_end|>\\n' }}{%- endfor %}{{- (tools | tojson) if tools else '' }}"
        "{{- '<tool_call>' if false else '' }}"
        "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}",
        "", "");
    service_ = std::make_unique<ChatService>(engine_.get(), template_.get(), scheduler_.get());
    context_thread_ = std::thread([this] { scheduler_->Run(); });
  }
  void TearDown() override {
    if (!context_thread_.joinable()) return;
    scheduler_->Stop();
    context_thread_.join();
  }

  std::vector<WholeAnswer> Ask(const std::string& fields) { return AskOf(*service_, fields); }
  static std::vector<WholeAnswer> AskOf(const ChatService& service, const std::string& fields) {
    auto request = ParseChatRequest(
        Json::parse(R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":200,"seed":3)" +
                    fields + "}"),
        {});
    EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message);
    auto chat = service.Start(std::move(*request), 0);
    EXPECT_TRUE(chat.has_value()) << (chat ? "" : chat.error().message);
    auto answers = CollectAnswers(std::move(*chat), [] { return false; });
    EXPECT_TRUE(answers.has_value()) << (answers ? "" : answers.error().message);
    return answers ? *answers : std::vector<WholeAnswer>();
  }

  SteadyClock clock_;
  std::unique_ptr<LlamaEngine> engine_;
  std::unique_ptr<CheckpointCache> cache_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<ChatTemplate> template_;
  std::unique_ptr<ChatService> service_;
  std::thread context_thread_;
};

// The end token's logit is low in a synthetic model, but it can be sampled.
constexpr char kGoOn[] = R"(,"ignore_eos":true)";

TEST_F(ReasoningLlama, ABudgetIsKeptToTheToken) {
  for (const size_t budget : {0, 1, 13}) {
    for (const char* also : {"", R"(,"n":3,"temperature":1.2)", R"(,"temperature":0)"}) {
      const auto answers =
          Ask(R"(,"thinking_budget_tokens":)" + std::to_string(budget) + kGoOn + also);
      for (const WholeAnswer& answer : answers) {
        EXPECT_EQ(answer.end.cost.reasoning_tokens, budget) << also;
        EXPECT_EQ(answer.end.cost.generated_tokens, 200u) << also;
      }
    }
  }
}

TEST_F(ReasoningLlama, AGrammarHoldsBehindTheForcedEnd) {
  for (const size_t budget : {0, 9}) {
    const auto answers =
        Ask(R"(,"thinking_budget_tokens":)" + std::to_string(budget) +
            R"(,"n":2,"temperature":1.0,"response_format":{"type":"json_schema","json_schema":)"
            R"({"schema":{"type":"object","properties":{"n":{"type":"integer","minimum":0,)"
            R"("maximum":99}},"required":["n"],"additionalProperties":false}}})");
    ASSERT_EQ(answers.size(), 2u);
    for (const WholeAnswer& answer : answers) {
      EXPECT_LE(answer.end.cost.reasoning_tokens, budget);
      EXPECT_EQ(answer.end.reason, FinishReason::kStop) << answer.content;
      const Json content = Json::parse(answer.content, nullptr, false);
      EXPECT_TRUE(content.is_object() && content.contains("n")) << answer.content;
    }
  }
}

// A random model opens another block in some of its answers if the grammar lets it.
TEST_F(ReasoningLlama, WhereThinkingIsOffAGrammarBeginsAtOnce) {
  size_t families = 0;
  for (const std::string& name : test::FamilyNames()) {
    const auto family = test::Family(name);
    ASSERT_NE(family, nullptr);
    if (FindReasoningControls(*family).switch_name.empty()) continue;
    ++families;
    const ChatService service(engine_.get(), family.get(), scheduler_.get());
    const auto answers = AskOf(service, R"(,"n":4,"temperature":1.0,"grammar":"root ::= \"7\"",)"
                                        R"("chat_template_kwargs":{"enable_thinking":false})");
    ASSERT_EQ(answers.size(), 4u) << name;
    for (const WholeAnswer& answer : answers) {
      EXPECT_EQ(answer.content, "7") << name;
      EXPECT_EQ(answer.reasoning, "") << name;
      EXPECT_LE(answer.end.cost.generated_tokens, 2u) << name << ": the content and the end";
    }
  }
  EXPECT_GE(families, 12u);
}

TEST_F(ReasoningLlama, AForcedCallComesBehindTheForcedEnd) {
  const auto answers =
      Ask(R"(,"thinking_budget_tokens":7,"tool_choice":"required","tools":[{"type":"function",)"
          R"("function":{"name":"weather","parameters":{"type":"object","properties":{"days":)"
          R"({"type":"integer","minimum":1,"maximum":9}},"required":["days"],)"
          R"("additionalProperties":false}}}])");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_LE(answers.front().end.cost.reasoning_tokens, 7u);
  ASSERT_FALSE(answers.front().calls.empty()) << answers.front().content;
  EXPECT_EQ(answers.front().calls.front().name, "weather");
}

}  // namespace
}  // namespace cairn
