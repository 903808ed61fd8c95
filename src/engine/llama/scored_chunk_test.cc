// Chunks of prompts that are decoded with the logits after each token.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing/engine/llama_fixture.h"

namespace cairn::scored_chunk_test {
namespace {

using test::kMade;
using test::Loaded;
using test::Made;
using test::PrefillCold;
using test::RandomPrompt;
using test::Read;
using test::Trace;

float Distance(std::span<const float> a, std::span<const float> b) {
  float distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance = std::max(distance, std::abs(a[i] - b[i]));
  return distance;
}

Status DecodeForLogits(Engine* engine, size_t position, TokenSpan tokens) {
  const SeqChunk chunk = {0, position, tokens};
  return engine->DecodeChunks({&chunk, 1}, ChunkLogits::kEach);
}

// Kernels for many rows round differently from those for one.
constexpr float kRounding = 0.02F;

TEST(ScoredChunk, HasTheLogitsThatPromptsOfTheSameTokensEndWith) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens prompt = RandomPrompt(96, 31);
    const std::vector<size_t> ends = {65, 80, 96};
    std::vector<std::vector<float>> alone;
    for (const size_t end : ends) {
      alone.push_back(PrefillCold(engine.get(), Tokens(prompt.begin(), prompt.begin() + end)));
    }
    engine->Clear(0);
    Read(engine.get(), prompt, 0, 64);
    ASSERT_TRUE(DecodeForLogits(engine.get(), 64, TokenSpan(prompt).subspan(64)).has_value());
    for (size_t i = 0; i < ends.size(); ++i) {
      EXPECT_LT(Distance(engine->LogitsOf(ends[i] - 65), alone[i]), kRounding) << ends[i];
    }
    EXPECT_EQ(Distance(engine->Logits(), engine->LogitsOf(31)), 0);
    EXPECT_GT(Distance(engine->LogitsOf(0), alone[2]), kRounding);
  }
}

TEST(ScoredChunk, LeavesTheStateOfAnyOtherChunk) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens prompt = RandomPrompt(400, 32);
    const auto cold = PrefillCold(engine.get(), prompt);
    engine->Clear(0);
    for (size_t begin = 0; begin < 384; begin += test::kGrid) {
      const TokenSpan chunk = TokenSpan(prompt).subspan(begin, test::kGrid);
      ASSERT_TRUE(DecodeForLogits(engine.get(), begin, chunk).has_value());
    }
    EXPECT_EQ(Read(engine.get(), prompt, 384, 400), cold);
  }
}

}  // namespace
}  // namespace cairn::scored_chunk_test
