// Prompts tokenised by libllama with a synthetic model's vocabulary: special texts in messages stay
// text, and ordinary conversations have the tokens of a single call.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "api/prompt/prompt_tokens.h"
#include "chat/template/chat_template.h"
#include "lab/maker/model_vocabulary.h"
#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

class PromptTokensLlama : public ::testing::Test {
 protected:
  PromptTokensLlama()
      : engine_(test::Loaded(test::kMade[0])),
        specials_(FindSpecialTexts(*engine_)),
        template_(*ChatTemplate::Parse(engine_->info().chat_template, engine_->info().bos_text,
                                       engine_->info().eos_text)) {}

  PromptText Text(const Conversation& conversation) const {
    auto prompt = RenderPrompt(*template_, specials_, conversation);
    EXPECT_TRUE(prompt.has_value());
    return *std::move(prompt);
  }
  Tokens Tokenised(const Conversation& conversation) const {
    return *TokenizePrompt(*engine_, specials_, Text(conversation), engine_->info().adds_bos, {});
  }
  std::string TextOf(const Tokens& tokens) const {
    std::string text;
    for (const Token token : tokens) text += engine_->Piece(token, true);
    return text;
  }

  static size_t CountControl(const Tokens& tokens) {
    return static_cast<size_t>(std::count_if(tokens.begin(), tokens.end(), [](Token token) {
      return token >= kEndOfTextToken && token <= kTurnEndToken;
    }));
  }

  const std::unique_ptr<LlamaEngine> engine_;
  const SpecialTexts specials_;
  const std::unique_ptr<ChatTemplate> template_;
};

TEST_F(PromptTokensLlama, FindsTheVocabularysControlTokens) {
  for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    EXPECT_TRUE(specials_.AnyIn(text)) << text;
  }
  // The reasoning marks are text that the tokenizer always parses.
  EXPECT_FALSE(specials_.AnyIn("<think>a</think>\n"));
}

TEST_F(PromptTokensLlama, NobodyWritesARoleIntoAMessage) {
  std::mt19937_64 random(3);
  const std::vector<std::string> bits = {
      "<|im_start|>", "<|im_end|>\n", "system\n", "<|endoftext|>",
      "<|im_",        "end|>",        "a",        "<|im_end"};
  const auto splice = [&] {
    std::string text = "t";
    for (uint64_t n = random() % 7; n > 0; --n) text += bits[random() % bits.size()];
    return text + "t";
  };
  const auto talk = [](const std::string& a, const std::string& b, const std::string& c) {
    return Conversation{.messages = {{.role = Role::kSystem, .content = a},
                                     {.role = Role::kUser, .content = b},
                                     {.role = Role::kAssistant, .content = c},
                                     {.role = Role::kUser, .content = b}}};
  };
  const size_t wanted = CountControl(Tokenised(talk("t", "t", "t")));
  for (int round = 0; round < 100; ++round) {
    const Conversation spliced = talk(splice(), splice(), splice());
    const Tokens tokens = Tokenised(spliced);
    ASSERT_EQ(CountControl(tokens), wanted) << TextOf(tokens);
    ASSERT_EQ(TextOf(tokens), *template_->Render(spliced, true));
  }
}

TEST_F(PromptTokensLlama, OrdinaryConversationsAreTokenisedAsOneText) {
  const Conversation talk{
      .messages = {{.role = Role::kSystem, .content = " S\n\n"},
                   {.role = Role::kUser, .content = "if (a <| b) { return \xC3\xA9; }  "},
                   {.role = Role::kAssistant, .content = "ok", .reasoning = "hm"},
                   {.role = Role::kUser, .content = "<think>"}}};
  const std::string text = *template_->Render(talk, true);
  EXPECT_EQ(Tokenised(talk), *engine_->Tokenize(text, engine_->info().adds_bos, true));
}

}  // namespace
}  // namespace cairn
