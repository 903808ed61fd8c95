#include "cmd/codec_figures.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "engine/fake_engine.h"

namespace cairn {
namespace {

TEST(CodecFigures, EqualLogitsDoNotDrift) {
  const std::array<float, 3> logits = {1.0F, 3.0F, -2.0F};
  LogitDrift drift;
  AddDrift(logits, logits, &drift);
  EXPECT_EQ(drift.tokens, 1u);
  EXPECT_EQ(drift.flips, 0u);
  EXPECT_EQ(drift.delta_max, 0);
  EXPECT_EQ(drift.kl_max, 0);
}

TEST(CodecFigures, DriftIsWhatTheFormulasSay) {
  // Shares of 3/4 and 1/4, and the other way round.
  const std::array<float, 2> expected = {std::log(3.0F), 0.0F};
  const std::array<float, 2> seen = {0.0F, std::log(3.0F)};
  LogitDrift drift;
  AddDrift(expected, expected, &drift);
  AddDrift(expected, seen, &drift);
  EXPECT_EQ(drift.tokens, 2u);
  EXPECT_EQ(drift.flips, 1u);
  EXPECT_NEAR(drift.delta_max, std::log(3.0), 1e-6);
  EXPECT_NEAR(drift.kl_max, 0.5 * std::log(3.0), 1e-6);
  EXPECT_NEAR(drift.kl_mean, 0.5 * std::log(3.0), 1e-6);  // the sum, until it is divided
}

TEST(CodecFigures, AnEngineGoesOnAsIfNothingHadBeenThroughEveryLosslessCodec) {
  for (const MemoryClass memory_class : {MemoryClass::kAttention, MemoryClass::kSlidingWindow,
                                         MemoryClass::kRecurrent, MemoryClass::kHybrid}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions options;
    options.memory_class = memory_class;
    FakeEngine engine(options);
    CodecTrial trial;
    trial.prompt = std::string(500, 'x');
    trial.prompt_tokens_max = 300;
    trial.tokens = 20;
    const auto result = TryCodecs(&engine, trial, ManualClock());
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(result->position, 256u);
    // Its states are not libllama's, so there is nothing that a codec may change.
    EXPECT_FALSE(result->floats_proven);
    ASSERT_EQ(result->codecs.size(), 5u);
    for (const CodecFigures& figures : result->codecs) {
      EXPECT_EQ(figures.drift.tokens, 20u);
      EXPECT_EQ(figures.drift.flips, 0u);
      EXPECT_EQ(figures.drift.delta_max, 0);
      EXPECT_FALSE(figures.objects.empty());
      for (const CodedObject& object : figures.objects) {
        EXPECT_LE(object.stored_bytes, object.raw_bytes);
      }
    }
  }
}

TEST(CodecFigures, RefusesAPromptShorterThanAGridStep) {
  FakeEngine engine(FakeEngineOptions{});
  CodecTrial trial;
  trial.prompt = "short";
  trial.prompt_tokens_max = 300;
  trial.tokens = 5;
  EXPECT_EQ(TryCodecs(&engine, trial, ManualClock()).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn
