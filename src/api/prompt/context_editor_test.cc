#include "api/prompt/context_editor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/chat/test_templates.h"
#include "testing/engine/fake_engine.h"
#include "testing/media/fake_media.h"

namespace cairn::context_editor_test {
namespace {

// Shows all reasoning, wherever it is.
constexpr char kShowsAll[] = R"jinja(
{%- for message in messages %}
  {{- '<|im_start|>' + message.role + '\n' }}
  {%- if message.reasoning_content %}
    {{- '<think>' + message.reasoning_content + '</think>' }}
  {%- endif %}
  {{- message.content }}
  {%- for call in message.tool_calls or [] %}
    {{- '<tool_call>' + call.function.name + ' ' + call.function.arguments + '</tool_call>' }}
  {%- endfor %}
  {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}
)jinja";

class ContextEditorTest : public ::testing::Test {
 protected:
  static FakeEngineOptions EngineOptions() {
    FakeEngineOptions options;
    options.context_tokens = size_t{1} << 20U;
    return options;
  }

  explicit ContextEditorTest(std::unique_ptr<ChatTemplate> chat_template = test::Builtin("qwen"))
      : template_(std::move(chat_template)) {}

  static Conversation Begun() {
    Conversation talk;
    talk.messages = {{.role = Role::kSystem, .content = "You read files."},
                     {.role = Role::kUser, .content = "Read them all."}};
    return talk;
  }
  // Adds a call and its result; both have the number in them.
  static void Use(size_t number, size_t bytes, Conversation* talk,
                  const std::string& tool = "read") {
    const std::string id = "call_" + std::to_string(number);
    Message call{.role = Role::kAssistant};
    call.tool_calls.push_back({id, tool, R"({"path": "file )" + std::to_string(number) + "\"}"});
    talk->messages.push_back(call);
    talk->messages.push_back(
        {.role = Role::kTool,
         .content = "result " + std::to_string(number) + ": " + std::string(bytes, 'r'),
         .tool_call_id = id});
  }
  static Conversation WithUses(size_t uses, const ContextEdits::ToolUses& wish) {
    Conversation talk = Begun();
    for (size_t i = 1; i <= uses; ++i) Use(i, 300, &talk);
    talk.edits.tool_uses = wish;
    return talk;
  }
  static ContextEdits::ToolUses AboveUses(size_t trigger, size_t keep) {
    return {.trigger = trigger, .counts_uses = true, .keep = keep};
  }

  AppliedEdits Apply(Conversation* talk) const {
    const auto applied = editor_.Apply(0, talk);
    EXPECT_TRUE(applied.has_value());
    return applied.value_or(AppliedEdits());
  }
  // "c" for a cleared result and "u" for another, in order.
  static std::string Results(const Conversation& talk) {
    std::string results;
    for (const Message& message : talk.messages) {
      if (message.role == Role::kTool) results += message.content == kClearedResult ? 'c' : 'u';
    }
    return results;
  }
  std::string Edited(Conversation talk) const {
    Apply(&talk);
    return Results(talk);
  }
  size_t PromptTokens(const Conversation& talk) const {
    return engine_.Tokenize(*template_->Render(talk, true), true, true)->size();
  }

  const FakeEngine engine_{EngineOptions()};
  const std::unique_ptr<ChatTemplate> template_;
  const MessageSizes sizes_{&engine_, template_.get()};
  const ContextEditor editor_{&sizes_, template_.get(), nullptr};
};

TEST_F(ContextEditorTest, TheTemplateIsMeasuredWhenASizeIsFirstAskedFor) {
  EXPECT_EQ(engine_.tokenized_bytes(), 0u);
  EXPECT_GT(sizes_.around_message(), 0u);
  const uint64_t measured = engine_.tokenized_bytes();
  EXPECT_GT(measured, 0u);
  EXPECT_GT(sizes_.around_all() + sizes_.around_call(), 0u);
  EXPECT_EQ(engine_.tokenized_bytes(), measured);
}

TEST_F(ContextEditorTest, ClearsAllButTheNewestUsesOnceThereAreMoreThanTheTrigger) {
  EXPECT_EQ(Edited(WithUses(5, AboveUses(5, 2))), "uuuuu");
  EXPECT_EQ(Edited(WithUses(6, AboveUses(5, 2))), "ccccuu");
  EXPECT_EQ(Edited(WithUses(6, AboveUses(5, 0))), "cccccc");
  EXPECT_EQ(Edited(WithUses(6, AboveUses(5, 9))), "uuuuuu");
}

TEST_F(ContextEditorTest, WhatIsClearedStaysSoAndNothingElseIsUntilTheTriggerIsReachedAgain) {
  std::string before;
  size_t steps = 0;
  for (size_t uses = 1; uses <= 30; ++uses) {
    Conversation talk = WithUses(uses, AboveUses(5, 2));
    Apply(&talk);
    const std::string prompt = *template_->Render(talk, false);
    // All of the turn before is the beginning of this one, but in the turns that clear.
    if (!prompt.starts_with(before)) ++steps;
    before = prompt;
    EXPECT_LE(Results(talk).size() - Results(talk).rfind('c') - 1, 5u);
  }
  EXPECT_EQ(steps, 7u);  // at 6, 10, 14, 18, 22, 26 and 30 uses
}

TEST_F(ContextEditorTest, AnEditorThatSawNothingBeforeFindsTheSame) {
  const ContextEditor other{&sizes_, template_.get(), nullptr};
  for (const size_t uses : {6, 11, 29}) {
    Conversation talk = WithUses(uses, AboveUses(5, 2));
    Conversation again = talk;
    Apply(&talk);
    EXPECT_TRUE(other.Apply(0, &again).has_value());
    EXPECT_EQ(Results(again), Results(talk));
  }
}

TEST_F(ContextEditorTest, ASecondCallDoesNothing) {
  Conversation talk = WithUses(6, AboveUses(5, 2));
  EXPECT_EQ(Apply(&talk).tool_uses, 4u);
  EXPECT_EQ(Apply(&talk).tool_uses, 0u);
  EXPECT_EQ(Results(talk), "ccccuu");
}

TEST_F(ContextEditorTest, ATriggerInTokensIsThatOfThePromptWithWhatIsClearedAlready) {
  constexpr size_t kTrigger = 4000;
  size_t steps = 0;
  size_t cleared = 0;
  // Of more uses even what is left of them would exceed it.
  for (size_t uses = 1; uses <= 20; ++uses) {
    const Conversation whole = WithUses(uses, {.trigger = kTrigger, .keep = 2});
    Conversation talk = whole;
    const AppliedEdits applied = Apply(&talk);
    const size_t tokens = PromptTokens(talk);
    // The sum of the sizes is exact to some tokens a message.
    EXPECT_LE(tokens, kTrigger + uses);
    EXPECT_NEAR(static_cast<double>(PromptTokens(whole) - tokens),
                static_cast<double>(applied.tool_tokens), static_cast<double>(uses));
    if (applied.tool_uses == cleared) continue;
    ++steps;
    EXPECT_EQ(applied.tool_uses, uses - 2);
    cleared = applied.tool_uses;
  }
  EXPECT_GT(steps, 3u);
}

TEST_F(ContextEditorTest, NothingIsClearedBelowATriggerInTokens) {
  const Conversation talk = WithUses(9, {.keep = 1});
  EXPECT_EQ(Edited(talk), "uuuuuuuuu");
  Conversation low = talk;
  low.edits.tool_uses->trigger = PromptTokens(talk) * 102 / 100;
  EXPECT_EQ(Edited(low), "uuuuuuuuu");
  low.edits.tool_uses->trigger = PromptTokens(talk) * 98 / 100;
  EXPECT_EQ(Edited(low), "ccccccccu");
}

TEST_F(ContextEditorTest, AStepThatClearsTooLittleWaitsForTheNextTurns) {
  ContextEdits::ToolUses wish = AboveUses(3, 2);
  EXPECT_EQ(Edited(WithUses(4, wish)), "ccuu");
  wish.clear_at_least = 1000;  // of some 300 a result
  EXPECT_EQ(Edited(WithUses(4, wish)), "uuuu");
  EXPECT_EQ(Edited(WithUses(5, wish)), "uuuuu");
  EXPECT_EQ(Edited(WithUses(6, wish)), "ccccuu");
  EXPECT_EQ(Edited(WithUses(9, wish)), "ccccuuuuu");
  EXPECT_EQ(Edited(WithUses(10, wish)), "ccccccccuu");
}

TEST_F(ContextEditorTest, ExcludedToolsStayAndDoNotCount) {
  Conversation talk = Begun();
  for (size_t i = 1; i <= 8; ++i) Use(i, 300, &talk, i % 2 == 0 ? "memory" : "read");
  talk.edits.tool_uses = AboveUses(3, 1);
  talk.edits.tool_uses->excluded = {"memory", "other"};
  EXPECT_EQ(Edited(talk), "cucucuuu");
}

TEST_F(ContextEditorTest, InputsAreClearedWhereThatIsAskedFor) {
  const auto inputs = [&](const ContextEdits::ToolUses& wish) {
    Conversation talk = Begun();
    for (size_t i = 1; i <= 4; ++i) Use(i, 300, &talk, i == 2 ? "write" : "read");
    talk.edits.tool_uses = wish;
    const size_t tokens = Apply(&talk).tool_tokens;
    std::string cleared;
    for (const Message& message : talk.messages) {
      for (const ToolCall& call : message.tool_calls) cleared += call.arguments == "{}" ? 'c' : 'u';
    }
    return std::pair{cleared, tokens};
  };
  ContextEdits::ToolUses wish = AboveUses(3, 1);
  const auto [none, tokens] = inputs(wish);
  EXPECT_EQ(none, "uuuu");
  wish.cleared_inputs = {"write"};
  EXPECT_EQ(inputs(wish).first, "ucuu");
  wish.clears_inputs = true;
  const auto [all, more_tokens] = inputs(wish);
  EXPECT_EQ(all, "cccu");
  EXPECT_EQ(more_tokens, tokens + 3 * std::string(R"({"path": "file 1"})").size() - 3 * 2);
}

TEST_F(ContextEditorTest, AResultNoLongerThanItsPlaceholderStays) {
  Conversation talk = Begun();
  for (size_t i = 1; i <= 6; ++i) Use(i, i == 2 ? 0 : 300, &talk);
  talk.messages[5].content = "ok";
  talk.edits.tool_uses = AboveUses(3, 2);
  EXPECT_EQ(Apply(&talk).tool_uses, 3u);
  EXPECT_EQ(Results(talk), "cuccuu");
}

TEST_F(ContextEditorTest, ParallelCallsAndResultsWithoutTheirCallsAreUsesToo) {
  Conversation talk = Begun();
  Message calls{.role = Role::kAssistant};
  for (const char* id : {"a", "b"}) calls.tool_calls.push_back({id, "read", "{}"});
  talk.messages.push_back(calls);
  for (const char* id : {"b", "a", "lost"}) {
    talk.messages.push_back(
        {.role = Role::kTool, .content = std::string(300, 'r'), .tool_call_id = id});
  }
  talk.edits.tool_uses = AboveUses(2, 1);
  EXPECT_EQ(Edited(talk), "ccu");
}

TEST_F(ContextEditorTest, AnAnswerThatTheClientBeganChangesNothing) {
  Conversation talk = WithUses(6, AboveUses(5, 2));
  talk.messages.push_back({.role = Role::kAssistant, .content = "So far,"});
  EXPECT_EQ(Edited(talk), "ccccuu");
}

TEST_F(ContextEditorTest, NothingIsDoneToAConversationWithoutEditsOrWithoutUses) {
  Conversation talk = WithUses(9, AboveUses(2, 1));
  talk.edits = {.asked = true};
  const AppliedEdits applied = Apply(&talk);
  EXPECT_TRUE(applied.asked);
  EXPECT_EQ(applied.tool_uses, 0u);
  EXPECT_EQ(Results(talk), "uuuuuuuuu");
  Conversation plain = Begun();
  plain.edits = {.asked = true, .reasoning_turns = 1, .tool_uses = AboveUses(1, 0)};
  EXPECT_EQ(Apply(&plain).tool_uses, 0u);
  Conversation empty;
  empty.edits.tool_uses = AboveUses(1, 0);
  EXPECT_EQ(Apply(&empty).tool_uses, 0u);
}

TEST_F(ContextEditorTest, AClearedResultLosesItsMedia) {
  FakeMediaDecoder decoder;
  FakeMediaEncoder encoder;
  MediaLayouts layouts(&decoder, &encoder);
  const ContextEditor editor{&sizes_, template_.get(), &layouts};
  Conversation talk = Begun();
  for (size_t i = 1; i <= 3; ++i) {
    Use(i, 300, &talk);
    Message& result = talk.messages.back();
    result.content = "";
    AppendMarker(FakeImage(64, 64, "picture " + std::to_string(i)), &result.content, &result.media);
  }
  talk.edits.tool_uses = AboveUses(2, 1);
  const auto applied = editor.Apply(0, &talk);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  EXPECT_EQ(Results(talk), "ccu");
  EXPECT_TRUE(talk.messages[3].media.empty());
  EXPECT_EQ(talk.messages[7].media.size(), 1u);
  EXPECT_EQ(applied->tool_tokens,
            2 * (*layouts.Of(*talk.messages[7].media[0].medium, 0))->tokens() -
                2 * kClearedResult.size());
}

// A turn: a question, a reasoned call with its result, and a reasoned answer.
Conversation Reasoned(size_t turns) {
  Conversation talk;
  for (size_t i = 0; i < turns; ++i) {
    talk.messages.push_back({.role = Role::kUser, .content = "question"});
    Message call{.role = Role::kAssistant, .reasoning = std::string(100, 'c')};
    call.tool_calls.push_back({"id" + std::to_string(i), "read", "{}"});
    talk.messages.push_back(call);
    talk.messages.push_back({.role = Role::kTool,
                             .content = std::string(300, 'r'),
                             .tool_call_id = "id" + std::to_string(i)});
    talk.messages.push_back(
        {.role = Role::kAssistant, .content = "answer", .reasoning = std::string(200, 'a')});
  }
  talk.messages.push_back({.role = Role::kUser, .content = "last question"});
  return talk;
}

std::string ReasonedMessages(const Conversation& talk) {
  std::string all;
  for (const Message& message : talk.messages) {
    if (message.role == Role::kAssistant) all += message.reasoning.empty() ? '-' : 'r';
  }
  return all;
}

class ShownReasoningTest : public ContextEditorTest {
 protected:
  ShownReasoningTest() : ContextEditorTest(test::Parsed(kShowsAll)) {}
};

TEST_F(ShownReasoningTest, ReasoningStaysInTheNewestTurnsThatHaveSome) {
  Conversation talk = Reasoned(4);
  talk.edits.reasoning_turns = 2;
  const size_t before = PromptTokens(talk);
  const AppliedEdits applied = Apply(&talk);
  EXPECT_EQ(ReasonedMessages(talk), "----rrrr");
  EXPECT_EQ(applied.reasoning_turns, 2u);
  EXPECT_EQ(applied.reasoning_tokens, 600u);
  EXPECT_NEAR(static_cast<double>(before - PromptTokens(talk)), 600, 4 * 15);  // and their tags
  Conversation few = Reasoned(2);
  few.edits.reasoning_turns = 2;
  EXPECT_EQ(Apply(&few).reasoning_turns, 0u);
  EXPECT_EQ(ReasonedMessages(few), "rrrr");
}

TEST_F(ShownReasoningTest, OnlyReasoningThatIsInThePromptCountsTowardsATrigger) {
  Conversation talk = Reasoned(3);
  const size_t all = PromptTokens(talk);
  talk.edits.tool_uses = {.trigger = all - 300, .keep = 1};
  Conversation kept = talk;
  EXPECT_EQ(Apply(&kept).tool_uses, 2u);
  talk.edits.reasoning_turns = 1;
  EXPECT_EQ(Apply(&talk).tool_uses, 0u);
}

class HiddenReasoningTest : public ContextEditorTest {
 protected:
  HiddenReasoningTest() : ContextEditorTest(test::Parsed(test::kOpenThink)) {}
};

TEST_F(HiddenReasoningTest, ReasoningThatTheTemplateLeavesOutIsNeitherCountedNorReported) {
  Conversation talk = Reasoned(3);
  talk.edits.reasoning_turns = 1;
  const AppliedEdits applied = Apply(&talk);
  EXPECT_EQ(ReasonedMessages(talk), "----rr");
  EXPECT_EQ(applied.reasoning_turns, 0u);
  EXPECT_EQ(applied.reasoning_tokens, 0u);
  Conversation counted = Reasoned(3);
  counted.edits.tool_uses = {.trigger = PromptTokens(counted) + 200, .keep = 1};
  EXPECT_EQ(Apply(&counted).tool_uses, 0u);
  // In a loop of calls the template shows it.
  Conversation loop = Reasoned(3);
  loop.messages.pop_back();
  loop.messages.pop_back();
  loop.edits.tool_uses = {.trigger = PromptTokens(loop) - 50, .keep = 1};
  EXPECT_EQ(Apply(&loop).tool_uses, 2u);
}

}  // namespace
}  // namespace cairn::context_editor_test
