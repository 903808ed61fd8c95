#include "engine/llama/llama_infill.h"

#include <gtest/gtest.h>

#include "lab/maker/model_vocabulary.h"
#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

TEST(LlamaInfill, FindsTheTokensOfAVocabularyThatHasThem) {
  ModelShape shape;
  shape.architecture = "llama";
  shape.width = 64;
  shape.infill = true;
  const std::string path = testing::TempDir() + "cairn_infill.gguf";
  ASSERT_TRUE(WriteModel(*MakeRecipe(shape), path, {"q8_0", {}}).has_value());
  const auto engine = LlamaEngine::Load(test::SmallOptions(path));
  std::filesystem::remove(path);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const InfillTokens tokens = FindInfillTokens(**engine);
  EXPECT_TRUE(tokens.complete());
  EXPECT_EQ(tokens.prefix, kInfillPrefixToken);
  EXPECT_EQ(tokens.suffix, kInfillSuffixToken);
  EXPECT_EQ(tokens.middle, kInfillMiddleToken);
  EXPECT_EQ(tokens.repository, kInfillRepositoryToken);
  EXPECT_EQ(tokens.separator, kInfillSeparatorToken);
  EXPECT_EQ((*engine)->Tokenize("<|fim_prefix|>a", false, false)->size(), 15u);
}

TEST(LlamaInfill, FindsNoneWhereThereAreNone) {
  const auto engine = LlamaEngine::Load(test::SmallOptions(test::MadeModel("llama")));
  ASSERT_TRUE(engine.has_value());
  EXPECT_FALSE(FindInfillTokens(**engine).complete());
}

}  // namespace
}  // namespace cairn
