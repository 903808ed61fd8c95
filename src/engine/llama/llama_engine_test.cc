// LlamaEngine on synthetic models of every memory class.

#include "engine/llama/llama_engine.h"
#include "engine/llama/state/llama_sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "lab/maker/model_vocabulary.h"
#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

using test::kMade;
using test::Loaded;
using test::Made;
using test::PrefillCold;
using test::RandomPrompt;
using test::Read;
using test::Trace;

TEST(LlamaEngine, TellsWhatAModelsMemoryIsLike) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const MemoryTraits& traits = engine->traits();
    EXPECT_EQ(traits.memory_class, made.memory_class);
    EXPECT_EQ(traits.window_tokens, made.window_tokens);
    EXPECT_EQ(traits.NeedsSnapshots(), made.memory_class != MemoryClass::kAttention);
    // At least a K and a V of one head of 32 numbers of 2 bytes in one layer.
    EXPECT_EQ(traits.kv_bytes_per_token >= 128, made.memory_class != MemoryClass::kRecurrent);
    EXPECT_LT(traits.kv_bytes_per_token, 10'000u);
    if (!traits.NeedsSnapshots()) continue;
    PrefillCold(engine.get(), RandomPrompt(300, 1));
    const Bytes snapshot = *engine->TakeSnapshot(0);
    EXPECT_EQ(traits.snapshot_bytes, snapshot.size());
    const size_t logits_bytes = engine->Logits().size_bytes();
    if (traits.window_tokens > 0 || 16 * logits_bytes > snapshot.size()) continue;
    EXPECT_GE(snapshot.capacity(), snapshot.size() + logits_bytes) << "the logits fit behind it";
  }
}

TEST(LlamaEngine, KeepsWholeWindowsWhenAsked) {
  LlamaOptions options = test::SmallOptions(test::MadeModel("gemma3", 96));
  options.swa_full = true;
  const auto engine = LlamaEngine::Load(options);
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ((*engine)->traits().memory_class, MemoryClass::kAttention);
  EXPECT_FALSE((*engine)->traits().NeedsSnapshots());
}

TEST(LlamaEngine, CutsOnTheGridChangeNoBit) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens prompt = RandomPrompt(700, 2);
    const auto cold = PrefillCold(engine.get(), prompt, 128);
    EXPECT_EQ(cold, PrefillCold(engine.get(), prompt, 64));
  }
}

TEST(LlamaEngine, ASnapshotLeadsBackToTheSameBits) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    // Long enough for the cells of a window to wrap around several times.
    const Tokens prompt = RandomPrompt(900, 3);
    const auto cold = PrefillCold(engine.get(), prompt);
    for (const size_t position : {64, 320, 704}) {
      engine->Clear(0);
      Read(engine.get(), prompt, 0, position);
      const Result<Bytes> snapshot = engine->TakeSnapshot(0);
      ASSERT_TRUE(snapshot.has_value());
      Read(engine.get(), RandomPrompt(1000, 4), position, position + 200, 1);
      ASSERT_TRUE(engine->Restore(0, position, *snapshot).has_value());
      Read(engine.get(), prompt, position, 896);
      EXPECT_EQ(Read(engine.get(), prompt, 896, 900), cold) << "from " << position;
    }
  }
}

TEST(LlamaEngine, ACutLeadsBackToTheSameBits) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens prompt = RandomPrompt(400, 5);
    const auto cold = PrefillCold(engine.get(), prompt);
    EXPECT_TRUE(engine->CanTruncate(0, 400));
    EXPECT_TRUE(engine->CanTruncate(0, 0));
    EXPECT_FALSE(engine->CanTruncate(0, 401));
    // With a window, the prompt can be truncated to its last cut, but not to earlier positions.
    const bool keeps_all = made.memory_class == MemoryClass::kAttention;
    EXPECT_EQ(engine->CanTruncate(0, 128), keeps_all);
    const bool can = keeps_all || made.memory_class == MemoryClass::kSlidingWindow;
    ASSERT_EQ(engine->CanTruncate(0, 384), can);
    if (!can) continue;
    ASSERT_TRUE(engine->Truncate(0, 384).has_value());
    EXPECT_EQ(Read(engine.get(), prompt, 384, 400), cold);
  }
}

// Cells that wrapped around to the first one have lost their order.
TEST(LlamaEngine, ALongAnswerTakesAWindowsCutAway) {
  const auto engine = Loaded({"gpt-oss", MemoryClass::kSlidingWindow, 128});
  const Tokens prompt = RandomPrompt(600, 6);
  Read(engine.get(), prompt, 0, 320);
  Read(engine.get(), prompt, 320, 420, 1);
  EXPECT_TRUE(engine->CanTruncate(0, 320));
  Read(engine.get(), prompt, 420, 520, 1);
  EXPECT_FALSE(engine->CanTruncate(0, 512));
}

// A changed bit after the header is not detected: code that brings bytes into the process checks
// them.
TEST(LlamaEngine, RefusesSnapshotsThatAreCutShortOrAreNone) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens prompt = RandomPrompt(192, 7);
    const auto cold = PrefillCold(engine.get(), prompt);
    const Bytes good = *engine->TakeSnapshot(0);
    std::vector<Bytes> bad = {{}, Bytes(5, 7), Bytes(good.size(), 0xFF)};
    for (const size_t size :
         {LlamaSequences::kSnapshotHeaderBytes - 1, LlamaSequences::kSnapshotHeaderBytes,
          good.size() / 2, good.size() - 1})
      bad.emplace_back(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    bad.push_back(good);
    bad.back().push_back(0);
    for (const size_t at : {0, 9, 20}) {  // magic, position, length
      bad.push_back(good);
      bad.back()[at] ^= 0x10;
    }
    for (const Bytes& bytes : bad) {
      const Status restored = engine->Restore(0, 192, bytes);
      ASSERT_FALSE(restored.has_value());
      EXPECT_EQ(restored.error().code, ErrorCode::kCorrupt);
      // The sequence is empty and can be used again.
      Read(engine.get(), prompt, 0, 128);
      EXPECT_EQ(Read(engine.get(), prompt, 128, 192), cold);
    }
    EXPECT_FALSE(engine->Restore(0, 128, good).has_value()) << "the position is another";
    PrefillCold(engine.get(), prompt);
    EXPECT_TRUE(engine->Restore(0, 192, good).has_value());
  }
}

// Tries the snapshots of every model on every other. The bytes are complete and the position is
// right, so libllama must refuse them, without ending the process. It checks shapes only, so the
// state of a model of the very same shape is accepted (mamba2 and falcon-h1 are made so). Code that
// keeps snapshots longer than an engine lives must record their model.
TEST(LlamaEngine, RefusesTheSnapshotsOfModelsOfOtherShapes) {
  const Tokens prompt = RandomPrompt(64, 8);
  std::vector<Bytes> snapshots;
  for (const Made& made : kMade) {
    const auto engine = Loaded(made);
    Read(engine.get(), prompt, 0, 64);
    snapshots.push_back(*engine->TakeSnapshot(0));
  }
  for (size_t i = 0; i < kMade.size(); ++i) {
    const auto engine = Loaded(kMade.at(i));
    const auto cold = Read(engine.get(), prompt, 0, 64);
    for (size_t other = 0; other < kMade.size(); ++other) {
      SCOPED_TRACE(Trace(kMade.at(other)) + " to " + Trace(kMade.at(i)));
      EXPECT_EQ(engine->Restore(0, 64, snapshots[other]).has_value(),
                snapshots[other].size() == snapshots[i].size());
      engine->Clear(0);
      EXPECT_EQ(Read(engine.get(), prompt, 0, 64), cold);
    }
  }
}

TEST(LlamaEngine, SaysWhenTheContextIsFullAndGoesOnAfterwards) {
  LlamaOptions options = test::SmallOptions(test::MadeModel("qwen35"));
  options.context_tokens = 256;
  auto loaded = LlamaEngine::Load(options);
  ASSERT_TRUE(loaded.has_value());
  LlamaEngine& engine = **loaded;
  EXPECT_EQ(engine.context_tokens(), 256u);
  const Tokens prompt = RandomPrompt(300, 9);
  Read(&engine, prompt, 0, 192);
  const Status full = engine.Decode(0, 192, TokenSpan(prompt).subspan(192, 65));
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, ErrorCode::kTooLong);
  Read(&engine, prompt, 192, 256);
  EXPECT_EQ(engine.Decode(0, 256, TokenSpan(prompt).first(1)).error().code, ErrorCode::kTooLong);
}

TEST(LlamaEngine, TokenizesAndGivesThePiecesBack) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  const std::string text = "Stones, pebbles\n\tété 石 <|im_end|>";
  const auto pieces = [&](const Tokens& tokens, bool special) {
    std::string joined;
    for (const Token token : tokens) joined += engine->Piece(token, special);
    return joined;
  };
  const Tokens plain = *engine->Tokenize(text, false, false);
  EXPECT_EQ(plain.size(), text.size());
  EXPECT_EQ(pieces(plain, false), text);
  const Tokens special = *engine->Tokenize(text, false, true);
  EXPECT_EQ(special.back(), kTurnEndToken);
  EXPECT_EQ(pieces(special, true), text);
  EXPECT_EQ(pieces(special, false), text.substr(0, text.size() - 10));
  EXPECT_TRUE(engine->IsEndOfGeneration(kTurnEndToken));
  EXPECT_FALSE(engine->IsEndOfGeneration('a'));
  EXPECT_EQ(engine->Piece(-1, true), "");
  EXPECT_EQ(engine->Piece(100'000, true), "");
  EXPECT_TRUE(engine->Tokenize("", false, false)->empty());
}

TEST(LlamaEngine, WithoutTemperatureTheLikeliestTokenIsDrawn) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  SamplingParams params;
  params.temperature = 0;
  const auto sampler = engine->MakeSampler(params);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto logits = PrefillCold(engine.get(), RandomPrompt(70, seed));
    const auto largest = std::max_element(logits.begin(), logits.end()) - logits.begin();
    EXPECT_EQ(sampler->Sample(engine->Logits()), largest);
  }
}

TEST(LlamaEngine, TheSameSeedDrawsTheSame) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  PrefillCold(engine.get(), RandomPrompt(70, 1));
  const auto draws = [&](uint32_t seed) {
    SamplingParams params;
    params.temperature = 2;
    params.seed = seed;
    const auto sampler = engine->MakeSampler(params);
    Tokens sampled;
    for (int i = 0; i < 40; ++i) sampled.push_back(sampler->Sample(engine->Logits()));
    return sampled;
  };
  EXPECT_EQ(draws(11), draws(11));
  EXPECT_NE(draws(11), draws(12));
}

TEST(LlamaEngine, ASamplerTellsWhatItChoseAmong) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  PrefillCold(engine.get(), RandomPrompt(70, 1));
  SamplingParams params;
  params.seed = 3;
  params.temperature = 1.5F;
  params.top_k = 4;
  const auto sampler = engine->MakeSampler(params);
  EXPECT_TRUE(sampler->Candidates().empty());
  const Token sampled = sampler->Sample(engine->Logits());
  const auto candidates = sampler->Candidates();
  ASSERT_LE(candidates.size(), 4u);
  ASSERT_FALSE(candidates.empty());
  float sum = 0;
  bool has_sampled = false;
  for (size_t i = 0; i < candidates.size(); ++i) {
    sum += candidates[i].probability;
    if (i > 0) EXPECT_LE(candidates[i].probability, candidates[i - 1].probability);
    has_sampled = has_sampled || candidates[i].token == sampled;
  }
  EXPECT_NEAR(sum, 1, 1e-4);
  EXPECT_TRUE(has_sampled);
  params.temperature = 0;
  const auto greedy = engine->MakeSampler(params);
  const Token likeliest = greedy->Sample(engine->Logits());
  ASSERT_EQ(greedy->Candidates().size(), 1u);
  EXPECT_EQ(greedy->Candidates()[0].token, likeliest);
}

TEST(LlamaEngine, ABiasRulesATokenOut) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  PrefillCold(engine.get(), RandomPrompt(70, 1));
  SamplingParams params;
  params.temperature = 0;
  const Token likeliest = engine->MakeSampler(params)->Sample(engine->Logits());
  params.logit_bias = {{likeliest, -1e9F}};
  EXPECT_NE(engine->MakeSampler(params)->Sample(engine->Logits()), likeliest);
}

// A synthetic model prefers letters, so digits and brackets come only where nothing else may.
TEST(LlamaEngine, AGrammarDecidesWhatIsDrawnAndWhereItEnds) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  PrefillCold(engine.get(), RandomPrompt(70, 1));
  const auto answer = [&](float temperature, const std::string& text) {
    SamplingParams params;
    params.temperature = temperature;
    params.seed = 5;
    params.grammar = Grammar::Parse(text).value_or(nullptr);
    const auto sampler = engine->MakeSampler(params);
    std::string sampled;
    while (sampled.size() < 100) {
      const Token token = sampler->Sample(engine->Logits());
      if (token == Sampler::kNoToken) return sampled + "(none)";
      if (engine->IsEndOfGeneration(token)) return sampled + "(end)";
      sampled += engine->Piece(token, false);
    }
    return sampled;
  };
  for (const float temperature : {0.0F, 1.0F}) {
    EXPECT_EQ(answer(temperature, "root ::= \"[12]\""), "[12](end)");
    EXPECT_EQ(answer(temperature, "root ::= \"{é🙂}\""), "{é🙂}(end)");
    EXPECT_EQ(answer(temperature, "root ::= [0-9]{3}").size(), 8u);
    EXPECT_EQ(answer(temperature, "root ::= \"1\" root"), std::string(100, '1'));
  }
  // No character is outside of this class, so no character can follow.
  EXPECT_EQ(answer(0, "root ::= \"a\" [^\\x00-\\U0010FFFF]"), "a(none)");
}

TEST(LlamaEngine, EverySamplingStepCanBeTaken) {
  const auto engine = Loaded({"llama", MemoryClass::kAttention});
  PrefillCold(engine.get(), RandomPrompt(70, 1));
  SamplingParams all;
  all.repeat_penalty = 1.1F;
  all.repeat_last_n = std::numeric_limits<int32_t>::max();
  all.dry.multiplier = 1;
  all.dry.last_n = std::numeric_limits<int32_t>::max();
  all.top_n_sigma = 3;
  all.typical_p = 0.9F;
  all.xtc_probability = 0.5F;
  all.dynatemp_range = 0.5F;
  all.min_keep = 2;
  all.logit_bias = {{std::numeric_limits<Token>::max(), 1.0F}, {'a', -100.0F}};
  SamplingParams backwards = all;
  std::reverse(backwards.order.begin(), backwards.order.end());
  SamplingParams mirostat = all;
  mirostat.mirostat = 1;
  SamplingParams mirostat2 = all;
  mirostat2.mirostat = 2;
  SamplingParams none = all;
  none.order.clear();
  for (SamplingParams& params :
       std::vector<SamplingParams>{all, backwards, mirostat, mirostat2, none}) {
    params.grammar = *Grammar::Parse("root ::= [a-z0-9]{40}");
    const auto sampler = engine->MakeSampler(params);
    for (int i = 0; i < 40; ++i) {
      const std::string piece = engine->Piece(sampler->Sample(engine->Logits()), false);
      ASSERT_EQ(piece.size(), 1u);
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(piece[0])) != 0) << piece;
    }
    EXPECT_TRUE(engine->IsEndOfGeneration(sampler->Sample(engine->Logits())));
  }
}

TEST(LlamaEngine, SaysWhyAModelCannotBeLoaded) {
  const auto why = [](const LlamaOptions& options) {
    const auto engine = LlamaEngine::Load(options);
    return engine ? "it was loaded" : engine.error().message;
  };
  LlamaOptions options;
  options.model_path = "/no/such.gguf";
  EXPECT_EQ(why(options), "there is no model file '/no/such.gguf'");
  options.model_path = testing::TempDir();
  EXPECT_NE(why(options).find("is a folder"), std::string::npos);
  options = test::SmallOptions(test::MadeModel("llama"));
  options.cache_type_k = "q9_9";
  EXPECT_NE(why(options).find("--cache-type-k"), std::string::npos);
  options = test::SmallOptions(test::MadeModel("llama"));
  options.ubatch_tokens = 8;
  EXPECT_NE(why(options).find("must be at least"), std::string::npos);
}

TEST(LlamaEngine, ADecodeThatIsStoppedLeavesAnEmptySequenceAndChangesNoLaterBit) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens prompt = RandomPrompt(300, 3);
    const auto cold = PrefillCold(engine.get(), prompt);
    for (const int wait_us : {0, 50, 300, 1000}) {
      engine->Clear(0);
      std::atomic<bool> stop = wait_us == 0;
      engine->StopDecodesIf(&stop);
      // It stops the decode before, in the middle or not at all.
      std::thread stops([&stop, wait_us] {
        std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
        stop = true;
      });
      const Status decoded = engine->Decode(0, 0, TokenSpan(prompt).first(128));
      stops.join();
      engine->StopDecodesIf(nullptr);
      if (wait_us == 0) {
        ASSERT_FALSE(decoded.has_value());
        EXPECT_EQ(decoded.error().code, ErrorCode::kInternal);
      }
      EXPECT_EQ(cold, PrefillCold(engine.get(), prompt));
    }
  }
}

}  // namespace
}  // namespace cairn
