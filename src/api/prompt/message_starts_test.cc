#include "api/prompt/message_starts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/prompt/prompt_tokens.h"
#include "testing/chat/family_templates.h"
#include "testing/chat/test_templates.h"
#include "testing/engine/fake_engine.h"

namespace cairn::message_starts_test {
namespace {

using test::Family;
using test::FamilyNames;

// A vocabulary with the control tokens of several families; everything else is a token per byte.
class FamilyEngine final : public FakeEngine {
 public:
  FamilyEngine() : FakeEngine({}) {}

  Result<Tokens> Tokenize(std::string_view text, bool /*add_special*/,
                          bool parse_special) const override {
    Tokens tokens;
    while (!text.empty()) {
      Token token = static_cast<uint8_t>(text.front());
      size_t bytes = 1;
      for (size_t i = 0; parse_special && i < Texts().size(); ++i) {
        if (!text.starts_with(Texts()[i])) continue;
        token = kEndOfText + static_cast<Token>(i);
        bytes = Texts()[i].size();
      }
      tokens.push_back(token);
      text.remove_prefix(bytes);
    }
    return tokens;
  }
  std::string Piece(Token token, bool special) const override {
    if (token < kEndOfText) return std::string(1, static_cast<char>(token));
    const auto index = static_cast<size_t>(token - kEndOfText);
    return special && index < Texts().size() ? Texts()[index] : "";
  }
  const ModelInfo& info() const override { return info_; }

  static const std::vector<std::string>& Texts() {
    static const std::vector<std::string> texts = {"<|endoftext|>",
                                                   "<|im_start|>",
                                                   "<|im_end|>",
                                                   "<|start_header_id|>",
                                                   "<|end_header_id|>",
                                                   "<|eot_id|>",
                                                   "<start_of_turn>",
                                                   "<end_of_turn>",
                                                   "[INST]",
                                                   "[/INST]",
                                                   "[TOOL_RESULTS]",
                                                   "[/TOOL_RESULTS]",
                                                   "<|start|>",
                                                   "<|message|>",
                                                   "<|end|>",
                                                   "<|channel|>",
                                                   "<|start_of_role|>",
                                                   "<|end_of_role|>",
                                                   "<|end_of_text|>",
                                                   "<bos>",
                                                   "<eos>"};
    return texts;
  }

 private:
  ModelInfo info_ = [this] {
    ModelInfo info = FakeEngine::info();
    info.vocab_size = static_cast<size_t>(kEndOfText) + Texts().size();
    return info;
  }();
};

std::vector<std::string> StartsOf(const ChatTemplate& chat_template) {
  const FamilyEngine engine;
  std::vector<std::string> texts;
  for (const Token token : FindMessageStarts(engine, chat_template)) {
    texts.push_back(engine.Piece(token, true));
  }
  return texts;
}

TEST(MessageStarts, OfChatMlIsOneToken) {
  EXPECT_EQ(StartsOf(*test::Builtin("qwen")), std::vector<std::string>{"<|im_start|>"});
}

TEST(MessageStarts, OfOtherFamiliesAreTheirs) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> known = {
      {"gemma3", {"<start_of_turn>"}},
      {"gpt-oss", {"<|start|>"}},
      {"granite4", {"<|start_of_role|>"}},
      {"llama3.1", {"<|start_header_id|>"}},
      {"mistral-v3", {"[INST]", "[TOOL_RESULTS]"}},
      {"qwen3.5", {"<|im_start|>"}}};
  for (const auto& [family, starts] : known) EXPECT_EQ(StartsOf(*Family(family)), starts) << family;
}

std::string OpeningOf(const std::string& family) {
  const FamilyEngine engine;
  return FindReplyOpening(FindSpecialTexts(engine), *Family(family));
}

TEST(ReplyOpening, IsTheGenerationPromptWhereRepliesFollowIt) {
  EXPECT_EQ(OpeningOf("gemma3"), "<start_of_turn>model\n");
  EXPECT_EQ(OpeningOf("llama3.1"), "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ReplyOpening, IsUnknownWhereTheModelReasons) {
  EXPECT_EQ(OpeningOf("qwen3.5"), "");
  EXPECT_EQ(OpeningOf("gpt-oss"), "");
}

TEST(MessageStarts, AreFewSpecialTokensInEveryFamily) {
  const FamilyEngine engine;
  for (const std::string& name : FamilyNames()) {
    const auto family = Family(name);
    const Tokens starts = FindMessageStarts(engine, *family);
    SCOPED_TRACE(name + ", " + std::to_string(starts.size()) + " message starts");
    EXPECT_LE(starts.size(), 4U);
    for (const Token start : starts) {
      EXPECT_GE(start, FakeEngine::kEndOfText) << "a special token";
    }
  }
}

}  // namespace
}  // namespace cairn::message_starts_test
