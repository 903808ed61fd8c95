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

}  // namespace
}  // namespace cairn
