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
constexpr size_t kDecoded = 6;  // of which all but kKept are rejected

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

// A text of which the first tokens are right, and the rest differ.
Tokens DraftOf(const Tokens& text) {
  Tokens draft = text;
  for (size_t at = kPrompt + kKept; at < draft.size(); ++at) draft[at] = (draft[at] + 1) % 256;
  return draft;
}

std::vector<float> RolledBack(Engine* engine, const Tokens& text) {
  engine->Clear(0);
  Read(engine, text, 0, kPrompt);
  DecodeTogether(engine, DraftOf(text), kPrompt, kDecoded);
  const Status rolled = engine->RollBack(0, kPrompt + kKept);
  EXPECT_TRUE(rolled.has_value()) << rolled.error().message;
  return DecodeTogether(engine, text, kPrompt + kKept, 1);
}

TEST(LlamaRollback, ASequenceGoesOnAsIfTheRejectedTokensHadNeverBeenDecoded) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    ASSERT_NE(engine, nullptr);
    const Tokens text = RandomPrompt(kPrompt + 8, 1);
    Read(engine.get(), text, 0, kPrompt);
    DecodeTogether(engine.get(), text, kPrompt, kKept);
    const auto expected = DecodeTogether(engine.get(), text, kPrompt + kKept, 1);
    if (engine->traits().rollback_tokens > 0) {
      // The kept tokens were decoded with others here, which may change their last bits.
      EXPECT_LT(LargestDifference(RolledBack(engine.get(), text), expected), 1e-3F);
      continue;
    }
    engine->Clear(0);
    Read(engine.get(), text, 0, kPrompt);
    const auto snapshot = engine->TakeSnapshot(0);
    ASSERT_TRUE(snapshot.has_value());
    DecodeTogether(engine.get(), DraftOf(text), kPrompt, kDecoded);
    ASSERT_TRUE(engine->Restore(0, kPrompt, *snapshot));
    DecodeTogether(engine.get(), text, kPrompt, kKept);
    EXPECT_EQ(DecodeTogether(engine.get(), text, kPrompt + kKept, 1), expected);
  }
}

// With states kept for it, a recurrent memory rolls back without a snapshot, where libllama offers
// that for the architecture; and its snapshots are those of other contexts.
TEST(LlamaRollback, RecurrentStatesThatAreKeptRollBackToo) {
  size_t offered = 0;
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto without = Loaded(made);
    ASSERT_NE(without, nullptr);
    if (without->traits().rollback_tokens > 0) continue;
    LlamaOptions options =
        test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens));
    options.rollback_states = kDecoded;
    auto loaded = LlamaEngine::Load(options);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    const auto engine = std::move(*loaded);
    EXPECT_EQ(*engine->StateIdentity(), *without->StateIdentity());
    if (engine->traits().rollback_tokens == 0) continue;
    ++offered;
    EXPECT_EQ(engine->traits().rollback_tokens, kDecoded);
    EXPECT_EQ(engine->traits().snapshot_bytes, without->traits().snapshot_bytes);
    const Tokens text = RandomPrompt(kPrompt + 8, 1);
    const auto logits = RolledBack(engine.get(), text);
    Read(without.get(), text, 0, kPrompt);
    DecodeTogether(without.get(), text, kPrompt, kKept);
    EXPECT_LT(LargestDifference(logits, DecodeTogether(without.get(), text, kPrompt + kKept, 1)),
              1e-3F);
    // The rolled back sequence and its snapshot go on alike.
    RolledBack(engine.get(), text);
    const auto snapshot = engine->TakeSnapshot(0);
    ASSERT_TRUE(snapshot.has_value());
    const auto next = DecodeTogether(engine.get(), text, kPrompt + kKept + 1, 1);
    ASSERT_TRUE(engine->Restore(0, kPrompt + kKept + 1, *snapshot));
    EXPECT_EQ(DecodeTogether(engine.get(), text, kPrompt + kKept + 1, 1), next);
    ASSERT_TRUE(without->Restore(0, kPrompt + kKept + 1, *snapshot));
    EXPECT_LT(LargestDifference(DecodeTogether(without.get(), text, kPrompt + kKept + 1, 1), next),
              1e-3F);
  }
  EXPECT_GT(offered, 0u);
}

}  // namespace
}  // namespace cairn
