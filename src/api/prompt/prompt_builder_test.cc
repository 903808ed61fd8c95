#include "api/prompt/prompt_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "testing/chat/test_templates.h"
#include "testing/engine/fake_engine.h"

namespace cairn::prompt_builder_test {
namespace {

using namespace test;  // NOLINT: the conversations read better
using Purpose = PromptUse::Purpose;

FakeEngineOptions EngineOptions() {
  FakeEngineOptions options;
  options.memory_class = MemoryClass::kHybrid;
  options.context_tokens = 4096;
  return options;
}

// A builder over the engine and the template that it needs.
struct Built {
  explicit Built(const PromptOptions& options = {}, std::unique_ptr<ChatTemplate> shows = nullptr)
      : chat_template(shows ? std::move(shows) : Builtin("qwen")),
        prompts(&engine, chat_template.get(), &answers, options) {}

  PreparedPrompt Prepare(const Conversation& talk, Purpose purpose = Purpose::kAnswer) const {
    auto prompt = prompts.Prepare(talk, {.name_space = 1, .purpose = purpose});
    EXPECT_TRUE(prompt.has_value()) << prompt.error().message;
    return prompt.value_or(PreparedPrompt{});
  }

  FakeEngine engine{EngineOptions()};
  std::unique_ptr<ChatTemplate> chat_template;
  AnswerTokens answers{1 << 20};
  PromptBuilder prompts;
};

TEST(PromptBuilder, PreparesTextTokensAndShape) {
  const Built built;
  const Conversation talk{.messages = {System("S"), User("U1"), Assistant("A"), User("U2")}};
  const PreparedPrompt prompt = built.Prepare(talk);
  EXPECT_EQ(prompt.text.text, built.prompts.Render(talk).value());
  EXPECT_EQ(prompt.tokens, built.engine.Tokenize(prompt.text.text, prompt.adds_bos, true).value());
  EXPECT_EQ(prompt.shape.tokens, prompt.tokens.size());
  EXPECT_EQ(prompt.shape.turns.size(), 2u);
  EXPECT_NE(prompt.map, nullptr);
  EXPECT_EQ(prompt.messages.size(), talk.messages.size());
  EXPECT_TRUE(prompt.generation_prompt().starts_with("<|im_start|>assistant"));
  EXPECT_EQ(prompt.prefilled(), "");
}

TEST(PromptBuilder, ToolsAreParsedOnceForARequest) {
  const Built built;
  const Conversation talk{.messages = {User("U")},
                          .tools = Tools::Parse(R"([{"type":"function","function":{"name":"f"}},)"
                                                R"({"type":"function","function":{"name":"g"}}])")
                                       .value()};
  // The value that the request came with has gone through all stages: it was not made anew.
  EXPECT_EQ(&built.Prepare(talk).tools.list(), &talk.tools.list());
  EXPECT_NE(built.Prepare(talk).text.text.find(R"("name": "g")"), std::string::npos);
}

TEST(PromptBuilder, ToolsAndArgumentsWithOtherOrdersOfKeysMakeTheSamePrompt) {
  const auto talk = [](const char* tools, const char* arguments) {
    return Conversation{.messages = {User("U"), Call("f", arguments), ToolAnswer("T")},
                        .tools = Tools::Parse(tools).value(),
                        .now_unix_s = 1};
  };
  const Conversation first = talk(
      R"([{"type":"function","function":{"name":"f","description":"d"}}])", R"({"b":1,"a":2})");
  const Conversation again = talk(
      R"([{"function":{"description":"d","name":"f"},"type":"function"}])", R"({"a":2,"b":1})");
  const Built built;
  const PreparedPrompt prompt = built.Prepare(first);
  EXPECT_EQ(built.Prepare(again).tokens, prompt.tokens);
  EXPECT_EQ(built.Prepare(again, Purpose::kCount).tokens, prompt.tokens);
  EXPECT_EQ(built.Prepare(first).tokens, prompt.tokens);
  // Not for another key, nor where nothing is to be reused.
  EXPECT_NE(built.prompts.Prepare(again, {.name_space = 2})->tokens, prompt.tokens);
  EXPECT_NE(built.prompts.Prepare(again, {.name_space = 1, .reuse = false})->tokens, prompt.tokens);
}

TEST(PromptBuilder, ACallThatWasCutIsWhereTheNextPromptGoesOn) {
  const Built built({}, Parsed(kOpenThink));
  const std::string asked = built.Prepare({.messages = {User("U")}}).text.text;
  const std::string written = "hm\n</think>\n\n<tool_call><function=f><parameter=path>AAAA";
  const PreparedPrompt next = built.Prepare(
      {.messages = {User("U"), Call("f", R"({"path": "AAAA)", "hm"), ToolAnswer("error")}});
  EXPECT_TRUE(next.text.text.starts_with(asked + written)) << next.text.text;
}

TEST(PromptBuilder, SaysOnceThatArgumentsAreShownInAnotherForm) {
  std::vector<std::string> said;
  PromptOptions options;
  options.log = [&](LogLevel, std::string_view line) { said.emplace_back(line); };
  const Built built(options, Parsed(kOpenThink));
  Conversation talk{.messages = {User("U"), Call("f", R"({"a": "x)"), ToolAnswer("T")}};
  const PreparedPrompt prompt = built.Prepare(talk);
  EXPECT_NE(prompt.text.text.find("<parameter=a>x</parameter>"), std::string::npos);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("1 calls"), std::string::npos) << said[0];
  talk.messages.push_back(Assistant("A"));
  talk.messages.push_back(User("V"));
  built.Prepare(talk);
  EXPECT_EQ(said.size(), 1u);
}

TEST(PromptBuilder, FindsAShapeOnlyForAnAnswer) {
  const Built built;
  const Conversation talk{.messages = {User("U")}};
  for (const Purpose purpose : {Purpose::kNextTurn, Purpose::kCount}) {
    const PreparedPrompt prompt = built.Prepare(talk, purpose);
    EXPECT_EQ(prompt.tokens, built.Prepare(talk).tokens);
    EXPECT_EQ(prompt.shape.tokens, 0u);
    EXPECT_EQ(prompt.map, nullptr);
  }
}

TEST(PromptBuilder, CountingPinsNothing) {
  PromptOptions options;
  options.volatile_text = VolatileText::Make({"[0-9]{2}:[0-9]{2}"}).value();
  const Built built(options);
  const auto at = [](const std::string& time) {
    return Conversation{.messages = {System("It is " + time + "."), User("U")}};
  };
  const PreparedPrompt counted = built.Prepare(at("10:00"), Purpose::kCount);
  EXPECT_NE(counted.text.text.find("10:00"), std::string::npos);
  EXPECT_EQ(built.Prepare(at("11:00")).pinned_texts, 0u);
  const PreparedPrompt pinned = built.Prepare(at("12:00"));
  EXPECT_EQ(pinned.pinned_texts, 1u);
  EXPECT_NE(pinned.text.text.find("11:00"), std::string::npos);
}

TEST(PromptBuilder, CutsWhatIsGeneratedFromAndCountsTheWhole) {
  PromptOptions options;
  options.cuts_overflow = true;
  const Built built(options);
  Conversation talk{.messages = {System("S")}};
  for (int i = 0; i < 20; ++i) {
    talk.messages.push_back(User(std::string(300, 'u')));
    talk.messages.push_back(Assistant("A"));
  }
  talk.messages.push_back(User("last"));
  const PreparedPrompt whole = built.Prepare(talk, Purpose::kCount);
  EXPECT_GT(whole.tokens.size(), built.engine.context_tokens());
  EXPECT_EQ(whole.dropped_messages, 0u);
  const PreparedPrompt cut = built.Prepare(talk);
  EXPECT_LT(cut.tokens.size(), built.engine.context_tokens());
  EXPECT_GT(cut.dropped_messages, 0u);
  EXPECT_EQ(cut.messages.size() + cut.dropped_messages, talk.messages.size());
}

TEST(PromptBuilder, ContinuesTheAssistantsLastMessage) {
  const Built built;
  Conversation talk{.messages = {User("U"), Assistant("The stone")}};
  talk.end = PromptEnd::kUsual;
  const PreparedPrompt prompt = built.Prepare(talk);
  EXPECT_TRUE(prompt.prefilled().ends_with("The stone")) << prompt.text.text;
  EXPECT_EQ(prompt.text.text.substr(prompt.text.shape.last_message_end),
            std::string(prompt.generation_prompt()) + std::string(prompt.prefilled()));
}

}  // namespace
}  // namespace cairn::prompt_builder_test
