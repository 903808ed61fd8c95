#include "engine/same_vocabulary.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

// An engine with another text for one token, or with more tokens.
class OtherEngine final : public FakeEngine {
 public:
  OtherEngine(Token token, std::string text, size_t vocab_size = kVocabSize)
      : FakeEngine({}), token_(token), text_(std::move(text)), info_(FakeEngine::info()) {
    info_.vocab_size = vocab_size;
    info_.path = "draft.gguf";
  }
  const ModelInfo& info() const override { return info_; }
  std::string Piece(Token token, bool special) const override {
    if (token == token_) return text_;
    const bool padding = token >= static_cast<Token>(kVocabSize);
    return padding ? "" : FakeEngine::Piece(token, special);
  }

 private:
  const Token token_;
  const std::string text_;
  ModelInfo info_;
};

TEST(SameVocabulary, NamesTheFirstTokenThatDiffers) {
  const FakeEngine model({});
  EXPECT_TRUE(CheckSameVocabulary(model, FakeEngine({})).has_value());
  const Status differs = CheckSameVocabulary(model, OtherEngine('q', "Q"));
  ASSERT_FALSE(differs.has_value());
  EXPECT_EQ(differs.error().message,
            "the draft model has another vocabulary: token 113 is \"Q\" in "
            "draft.gguf and \"q\" in " +
                model.info().path + "; a draft model must be of the same family");
}

TEST(SameVocabulary, AllowsPaddingAndNoMore) {
  const FakeEngine model({});
  const size_t size = FakeEngine::kVocabSize;
  EXPECT_TRUE(CheckSameVocabulary(model, OtherEngine(-1, "", size + 128)).has_value());
  const Status differs = CheckSameVocabulary(model, OtherEngine(-1, "", size + 129));
  ASSERT_FALSE(differs.has_value());
  EXPECT_NE(differs.error().message.find("token 259"), std::string::npos);
  EXPECT_NE(differs.error().message.find("missing in"), std::string::npos);
}

}  // namespace
}  // namespace cairn
