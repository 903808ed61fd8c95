// Attention KV at other positions. In a model of one layer, a token's KV depends only on the token
// and its position: there, moving must give the same result as prefill.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "testing/engine/llama_fixture.h"

namespace cairn::llama_shift_test {
namespace {

using test::kGrid;
using test::kMade;
using test::Made;
using test::PrefillInto;
using test::RandomPrompt;
using test::Read;
using test::Trace;

std::unique_ptr<LlamaEngine> OneLayer(const std::string& architecture, size_t slots) {
  ModelShape shape;
  shape.architecture = architecture;
  shape.width = 64;
  shape.layers = 1;
  const std::string path = testing::TempDir() + "cairn_" + std::to_string(getpid()) +
                           "_one_layer_" + architecture + ".gguf";
  const auto recipe = MakeRecipe(shape);
  EXPECT_TRUE(recipe.has_value());
  EXPECT_TRUE(WriteModel(*recipe, path, {"f32", {}}).has_value());
  LlamaOptions options = test::SmallOptions(path);
  options.slots = slots;
  options.cache_type_k = options.cache_type_v = "f32";
  options.flash_attention = "off";  // it would sum in float16 regardless
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  std::filesystem::remove(path);
  return engine ? std::move(*engine) : nullptr;
}

float Distance(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

Tokens Without(Tokens tokens, size_t begin, size_t end) {
  tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(begin),
               tokens.begin() + static_cast<ptrdiff_t>(end));
  return tokens;
}

TEST(LlamaShift, IsForMemoriesOfAttentionAlone) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = test::Loaded(made);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->traits().shifts, made.memory_class == MemoryClass::kAttention);
  }
}

TEST(LlamaShift, PutsWhatIsBehindWhereReadingWouldHavePutIt) {
  const auto engine = OneLayer("llama", 1);
  ASSERT_NE(engine, nullptr);
  ASSERT_TRUE(engine->traits().shifts);
  const Tokens tokens = RandomPrompt(3 * kGrid, 1);
  Read(engine.get(), tokens, 0, tokens.size() - 1);
  ASSERT_TRUE(engine->Drop(0, 20, 90).has_value());
  const Tokens left = Without(tokens, 20, 90);
  const auto moved = Read(engine.get(), left, left.size() - 1, left.size());
  engine->Clear(0);
  const auto read = Read(engine.get(), left, 0, left.size());
  // The difference is rounding only; the sequence with all its tokens is far away.
  EXPECT_LT(Distance(moved, read), 1e-4F);
  engine->Clear(0);
  EXPECT_GT(Distance(Read(engine.get(), tokens, 0, tokens.size()), read), 1e-2F);
}

TEST(LlamaShift, MovesAgainWhatWasMoved) {
  const auto engine = OneLayer("llama", 1);
  ASSERT_NE(engine, nullptr);
  const Tokens tokens = RandomPrompt(3 * kGrid, 2);
  Read(engine.get(), tokens, 0, tokens.size() - 1);
  ASSERT_TRUE(engine->Drop(0, 100, 130).has_value());
  ASSERT_TRUE(engine->Drop(0, 0, 50).has_value());
  const Tokens left = Without(Without(tokens, 100, 130), 0, 50);
  const auto moved = Read(engine.get(), left, left.size() - 1, left.size());
  engine->Clear(0);
  EXPECT_LT(Distance(moved, Read(engine.get(), left, 0, left.size())), 1e-4F);
}

TEST(LlamaShift, LeavesTheFrontThatAnotherSequenceShares) {
  const auto engine = OneLayer("llama", 2);
  ASSERT_NE(engine, nullptr);
  const Tokens tokens = RandomPrompt(3 * kGrid, 3);
  const size_t last = tokens.size() - 1;
  Read(engine.get(), tokens, 0, 2 * kGrid);
  ASSERT_TRUE(engine->Fork(0, 1, 2 * kGrid, {}).has_value());
  Read(engine.get(), tokens, 2 * kGrid, last);
  PrefillInto(1, engine.get(), tokens, 2 * kGrid, last);
  const Bytes before = *engine->TakeSegment(1, 0, last);
  ASSERT_TRUE(engine->Drop(0, 10, 2 * kGrid).has_value());
  const Tokens left = Without(tokens, 10, 2 * kGrid);
  const auto moved = Read(engine.get(), left, left.size() - 1, left.size());
  EXPECT_EQ(*engine->TakeSegment(1, 0, last), before);
  engine->Clear(0);
  EXPECT_LT(Distance(moved, Read(engine.get(), left, 0, left.size())), 1e-4F);
}

}  // namespace
}  // namespace cairn::llama_shift_test
