#include "engine/state_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "engine/fake_engine.h"
#include "engine/llama_fixture.h"

namespace cairn {
namespace {

using test::kMade;
using test::Loaded;
using test::Made;

size_t BytesIn(const std::vector<FloatRows>& rows) {
  size_t bytes = 0;
  for (const FloatRows& each : rows) bytes += each.bytes;
  return bytes;
}

// Nearly all of a state is floats; the rest is a few bytes a layer and a cell.
void ExpectMostlyFloats(const Bytes& state) {
  const std::vector<FloatRows> rows = FindFloatRows(state);
  size_t end = 0;
  for (const FloatRows& each : rows) {
    EXPECT_GE(each.offset, end);
    end = each.offset + each.bytes;
  }
  EXPECT_LE(end, state.size());
  EXPECT_GT(BytesIn(rows), state.size() * 8 / 10);
}

TEST(StateRows, AreFoundInWhatEachMemoryGivesAndAreFloatsAndNothingElse) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(test::Trace(made));
    const auto engine = Loaded(made);
    ASSERT_NE(engine, nullptr);
    const Status proven = ProveFloatRows(engine.get());
    EXPECT_TRUE(proven.has_value()) << proven.error().message;
    const Tokens prompt = test::RandomPrompt(320, 1);
    test::Read(engine.get(), prompt, 0, prompt.size());
    if (engine->traits().NeedsSnapshots()) ExpectMostlyFloats(engine->TakeSnapshot(0).value());
    if (engine->traits().segments) ExpectMostlyFloats(engine->TakeSegment(0, 64, 256).value());
    if (engine->traits().whole_states) ExpectMostlyFloats(engine->TakeWhole(0).value());
  }
}

TEST(StateRows, AreFoundWhereEachSlotHasAStreamOfItsOwn) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(test::Trace(made));
    LlamaOptions options =
        test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens));
    options.slots = 3;
    options.unified = false;
    const auto engine = LlamaEngine::Load(options);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    const Status proven = ProveFloatRows(engine->get());
    EXPECT_TRUE(proven.has_value()) << proven.error().message;
  }
}

TEST(StateRows, OfAQuantisedCacheAreNone) {
  LlamaOptions options = test::SmallOptions(test::MadeModel("llama"));
  options.flash_attention = "on";
  options.cache_type_k = "q8_0";
  options.cache_type_v = "q8_0";
  const auto engine = LlamaEngine::Load(options);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  EXPECT_FALSE(ProveFloatRows(engine->get()));
}

TEST(StateRows, AreNotFoundInBytesThatAreLaidOutOtherwise) {
  EXPECT_TRUE(FindFloatRows({}).empty());
  const auto engine = Loaded(kMade[4]);
  ASSERT_NE(engine, nullptr);
  const Tokens prompt = test::RandomPrompt(64, 2);
  test::Read(engine.get(), prompt, 0, prompt.size());
  const Bytes snapshot = engine->TakeSnapshot(0).value();
  for (const size_t cut : {size_t{1}, size_t{4}, snapshot.size() / 2, snapshot.size() - 8}) {
    EXPECT_TRUE(FindFloatRows(ByteSpan(snapshot).first(snapshot.size() - cut)).empty()) << cut;
  }
  Bytes longer = snapshot;
  longer.insert(longer.end(), 16, 0x7F);
  EXPECT_TRUE(FindFloatRows(longer).empty());
}

TEST(StateRows, SurviveAnyNoise) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    Bytes noise(32 + random() % 300);
    // Mostly small numbers, which mean something.
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random() % 4 != 0 ? 0 : random() % 5);
    size_t end = 0;
    for (const FloatRows& each : FindFloatRows(noise)) {
      ASSERT_GE(each.offset, end);
      end = each.offset + each.bytes;
      ASSERT_LE(end, noise.size());
    }
  }
}

TEST(StateRows, OfAnEngineWithAnotherLayoutAreNotProven) {
  FakeEngineOptions options;
  options.memory_class = MemoryClass::kHybrid;
  FakeEngine engine(options);
  const Status proven = ProveFloatRows(&engine);
  ASSERT_FALSE(proven.has_value());
  EXPECT_EQ(proven.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace cairn
