#include "lab/maker/model_vocabulary.h"

#include <gtest/gtest.h>

#include <set>

namespace cairn {
namespace {

TEST(ModelVocabulary, NamesEveryByteOnce) {
  const Metadata metadata = VocabularyMetadata();
  const auto& tokens =
      std::get<std::vector<std::string>>(*FindMetadata(metadata, "tokenizer.ggml.tokens"));
  ASSERT_EQ(tokens.size(), static_cast<size_t>(kVocabularySize));
  EXPECT_EQ(std::set<std::string>(tokens.begin(), tokens.end()).size(), tokens.size());
  EXPECT_EQ(tokens['A'], "A");
  EXPECT_EQ(tokens[0], "\u0100");
  EXPECT_EQ(tokens[' '], "\u0120");
  EXPECT_EQ(tokens['\n'], "\u010A");
  EXPECT_EQ(tokens[0xE9], "\u00E9");
  EXPECT_EQ(tokens[0xAD], "\u0143");
  EXPECT_EQ(tokens[kTurnEndToken], "<|im_end|>");
  EXPECT_EQ(tokens[kThinkEndToken], "</think>");
}

TEST(ModelVocabulary, OfEncodersHasEachPieceOnce) {
  const Metadata metadata = EncoderVocabularyMetadata();
  const auto& tokens =
      std::get<std::vector<std::string>>(*FindMetadata(metadata, "tokenizer.ggml.tokens"));
  EXPECT_EQ(std::set<std::string>(tokens.begin(), tokens.end()).size(), tokens.size());
  EXPECT_EQ(tokens[2], "[CLS]");
  EXPECT_EQ(tokens[3], "[SEP]");
  const auto& types =
      std::get<std::vector<int32_t>>(*FindMetadata(metadata, "tokenizer.ggml.token_type"));
  EXPECT_EQ(types.size(), tokens.size());
}

}  // namespace
}  // namespace cairn
