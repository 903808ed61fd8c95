// Drafted tokens that are dropped again, on real memory: by RollBack where it can, else by a
// snapshot.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

using test::kMade;
using test::Loaded;
using test::Made;
using test::RandomPrompt;
using test::Read;
using test::Trace;

constexpr size_t kPrompt = 300;
constexpr size_t kKept = 2;

// Decodes `count` tokens of `text` together, from `begin` on. Returns the last row of logits.
std::vector<float> DecodeTogether(Engine* engine, const Tokens& text, size_t begin, size_t count) {
  const TokenSpan tokens = TokenSpan(text).subspan(begin, count);
  const Status decoded = engine->DecodeEach(NextTokens(0, begin, tokens));
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
  const std::span<const float> row = engine->LogitsOf(count - 1);
  return {row.begin(), row.end()};
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(LlamaRollback, ASequenceGoesOnAsIfTheRejectedTokensHadNeverBeenDecoded) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    ASSERT_NE(engine, nullptr);
    const Tokens text = RandomPrompt(kPrompt + 8, 1);
    Tokens draft = text;
    for (size_t at = kPrompt + kKept; at < draft.size(); ++at) draft[at] = (draft[at] + 1) % 256;
    Read(engine.get(), text, 0, kPrompt);
    DecodeTogether(engine.get(), text, kPrompt, kKept);
    const auto expected = DecodeTogether(engine.get(), text, kPrompt + kKept, 1);
    engine->Clear(0);
    Read(engine.get(), text, 0, kPrompt);
    if (engine->traits().rollback_tokens > 0) {
      DecodeTogether(engine.get(), draft, kPrompt, 6);
      ASSERT_TRUE(engine->RollBack(0, kPrompt + kKept));
      const auto logits = DecodeTogether(engine.get(), text, kPrompt + kKept, 1);
      // The kept tokens were decoded with others here, which may change their last bits.
      EXPECT_LT(LargestDifference(logits, expected), 1e-3F);
      continue;
    }
    const auto snapshot = engine->TakeSnapshot(0);
    ASSERT_TRUE(snapshot.has_value());
    DecodeTogether(engine.get(), draft, kPrompt, 6);
    ASSERT_TRUE(engine->Restore(0, kPrompt, *snapshot));
    DecodeTogether(engine.get(), text, kPrompt, kKept);
    EXPECT_EQ(DecodeTogether(engine.get(), text, kPrompt + kKept, 1), expected);
  }
}

}  // namespace
}  // namespace cairn
