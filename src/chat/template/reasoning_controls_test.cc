#include "chat/template/reasoning_controls.h"

#include <gtest/gtest.h>

#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"

namespace cairn::reasoning_controls_test {
namespace {

using namespace test;  // NOLINT: the templates read better

ReasoningControls Of(const std::string& family) {
  return FindReasoningControls(*Family(family));
}

std::string Told(const std::string& family, const std::string& effort) {
  return KwargsFor(Of(family), {.effort = effort});
}

TEST(ReasoningControls, FindTheSwitchOfATemplate) {
  for (const char* family : {"qwen3", "qwen3.5", "glm-4.5", "gemma4", "deepseek-v3.2"}) {
    EXPECT_EQ(Of(family).switch_name, "enable_thinking") << family;
  }
  EXPECT_EQ(Of("deepseek-v3").switch_name, "thinking");
  EXPECT_EQ(Of("kimi-k3").switch_name, "thinking");
  EXPECT_EQ(Of("minimax-m3").switch_name, "thinking_mode");
  EXPECT_EQ(Of("cohere2-moe").switch_name, "reasoning");
  for (const char* family : {"gpt-oss", "qwen2.5", "llama3.1", "gemma3", "nemotron-h"}) {
    EXPECT_EQ(Of(family).switch_name, "") << family;
  }
}

TEST(ReasoningControls, AnEffortIsToldInTheTemplatesOwnWords) {
  EXPECT_EQ(Told("gpt-oss", "high"), R"({"reasoning_effort":"high"})");
  EXPECT_EQ(Told("deepseek-v4.1", "high"), R"({"enable_thinking":true,"reasoning_effort":"high"})");
  EXPECT_EQ(Told("kimi-k3", "low"), R"({"thinking":true,"thinking_effort":"low"})");
  EXPECT_EQ(Told("qwen3", "high"), R"({"enable_thinking":true})");
  EXPECT_EQ(Told("minimax-m3", "high"), R"({"thinking_mode":"enabled"})");
  EXPECT_EQ(Told("qwen2.5", "high"), "");
}

TEST(ReasoningControls, AnEffortThatTheTemplateRefusesIsTheNearestItTakes) {
  EXPECT_EQ(Told("gpt-oss", "minimal"), R"({"reasoning_effort":"low"})");
  EXPECT_EQ(Told("gpt-oss", "max"), R"({"reasoning_effort":"high"})");
  EXPECT_EQ(Told("deepseek-v4.1", "medium"),
            R"({"enable_thinking":true,"reasoning_effort":"high"})");
  EXPECT_EQ(Told("kimi-k3", "minimal"), R"({"thinking":true,"thinking_effort":"low"})");
  EXPECT_NE(EffortNote(Of("gpt-oss"), "max").find("'high'"), std::string::npos);
  EXPECT_EQ(EffortNote(Of("gpt-oss"), "medium"), "");
}

TEST(ReasoningControls, NoneTurnsReasoningOff) {
  EXPECT_EQ(Told("qwen3", "none"), R"({"enable_thinking":false})");
  EXPECT_EQ(KwargsFor(Of("qwen3.5"), {.enabled = false}), R"({"enable_thinking":false})");
  EXPECT_EQ(Told("cohere2-moe", "none"), R"({"reasoning":false})");
  EXPECT_EQ(Told("gpt-oss", "none"), "");
  EXPECT_NE(EffortNote(Of("gpt-oss"), "none").find("closed where it opens"), std::string::npos);
  EXPECT_EQ(EffortNote(Of("qwen3"), "none"), "");
}

TEST(ReasoningControls, ReasoningIsOnUnlessTheTemplateHasItOnAnyway) {
  EXPECT_EQ(Of("deepseek-v3").unasked, R"({"thinking":true})");
  for (const char* family : {"command-r7b", "deepseek-v3.2", "deepseek-v4", "gemma4"}) {
    EXPECT_EQ(Of(family).unasked, R"({"enable_thinking":true})") << family;
  }
  for (const char* family : {"qwen3", "qwen3.5", "glm-4.7", "kimi-k3", "nemotron-3", "gpt-oss",
                             "minimax-m3", "cohere2-moe"}) {
    EXPECT_EQ(Of(family).unasked, "") << family;
  }
}

TEST(ReasoningControls, ASwitchThatIsOnlyASentenceKeepsItsDefault) {
  const auto sentence = Parsed(
      "{{ 'Think aloud. ' if thinking else '' }}{% for m in messages %}{{ m.content }}{% endfor %}"
      "{{ 'A:' if add_generation_prompt else '' }}");
  EXPECT_EQ(FindReasoningControls(*sentence).switch_name, "thinking");
  EXPECT_EQ(FindReasoningControls(*sentence).unasked, "");
}

TEST(ReasoningControls, TheSwitchOfAnotherTemplateTurnsThisOne) {
  const ReasoningControls v3 = Of("deepseek-v3");
  EXPECT_EQ(WithOwnSwitch(v3, R"({"enable_thinking":false,"a":1})"),
            R"({"enable_thinking":false,"a":1,"thinking":false})");
  EXPECT_EQ(WithOwnSwitch(v3, R"({"reasoning_effort":"none"})"),
            R"({"reasoning_effort":"none","thinking":false})");
  EXPECT_EQ(WithOwnSwitch(Of("qwen3"), R"({"thinking":true})"),
            R"({"thinking":true,"enable_thinking":true})");
  EXPECT_EQ(WithOwnSwitch(Of("minimax-m3"), R"({"enable_thinking":false})"),
            R"({"enable_thinking":false,"thinking_mode":"disabled"})");
  // The template's own takes precedence, and what no template knows says nothing.
  for (const char* kwargs : {R"({"thinking":true,"enable_thinking":false})", R"({"a":false})",
                             R"({"enable_thinking":"no"})", ""}) {
    EXPECT_EQ(WithOwnSwitch(v3, kwargs), kwargs);
  }
  EXPECT_EQ(WithOwnSwitch(Of("qwen2.5"), R"({"enable_thinking":false})"),
            R"({"enable_thinking":false})");
}

TEST(ReasoningControls, VariablesAreOffWhereTheTemplatesSwitchIs) {
  EXPECT_TRUE(TurnsOff(Of("qwen3"), R"({"enable_thinking":false})"));
  EXPECT_TRUE(TurnsOff(Of("minimax-m3"), R"({"thinking_mode":"disabled"})"));
  EXPECT_FALSE(TurnsOff(Of("qwen3"), R"({"enable_thinking":true})"));
  EXPECT_FALSE(TurnsOff(Of("qwen3"), R"({"thinking":false})"));
  EXPECT_FALSE(TurnsOff(Of("gpt-oss"), R"({"enable_thinking":false})"));
  EXPECT_FALSE(TurnsOff(Of("qwen3"), ""));
}

TEST(ReasoningControls, EveryFamilyRendersWithEveryEffort) {
  for (const std::string& family : FamilyNames()) {
    const auto chat_template = Family(family);
    const ReasoningControls controls = FindReasoningControls(*chat_template);
    for (const std::string& effort : ReasoningEfforts()) {
      const Conversation conversation{
          .messages = {User("Hi")},
          .template_kwargs_json = KwargsFor(controls, {.effort = effort})};
      const auto text = chat_template->Render(conversation, true);
      EXPECT_TRUE(text.has_value()) << family << " " << effort << ": " << text.error().message;
    }
  }
}

TEST(ReasoningControls, OfTwoValuesTheLaterOneHolds) {
  EXPECT_EQ(MergedKwargs({R"({"a":1,"b":2})", "", R"({"b":3})"}), R"({"a":1,"b":3})");
  EXPECT_EQ(MergedKwargs({"", ""}), "");
}

}  // namespace
}  // namespace cairn::reasoning_controls_test
