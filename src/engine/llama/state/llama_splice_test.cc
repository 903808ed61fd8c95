// Segments and forks where each sequence has a stream of its own: cut out of full states and
// spliced into others. A stream's neighbours change no bit, so everything here is compared to the
// bit, with the run of an engine that has one sequence.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "testing/engine/taken_apart.h"

namespace cairn::llama_splice_test {
namespace {

using test::kMade;
using test::Made;
using test::PrefillInto;
using test::RandomPrompt;
using test::Read;
using test::SnapshotOf;
using test::TakenApart;
using test::Trace;

constexpr size_t kSlots = 3;
constexpr size_t kPosition = TakenApart::kPosition;

std::unique_ptr<LlamaEngine> LoadedWith(const LlamaOptions& options) {
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

LlamaOptions OptionsOf(const Made& made) {
  return test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens));
}

LlamaOptions InStreams(LlamaOptions options) {
  options.slots = kSlots;
  options.context_tokens = 1024 * kSlots;
  options.unified = false;
  options.log = [](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) ADD_FAILURE() << line;
  };
  return options;
}

template <typename Test>
void WithEveryMemory(const Test& test) {
  for (const Made& made : kMade) {
    if (made.memory_class == MemoryClass::kRecurrent) continue;  // it has no attention KV
    SCOPED_TRACE(Trace(made));
    const auto engine = LoadedWith(InStreams(OptionsOf(made)));
    ASSERT_TRUE(engine->traits().segments);
    ASSERT_FALSE(engine->traits().one_buffer);
    test(made, engine.get());
  }
}

TEST(LlamaSplice, ARecurrentModelHasNoSegments) {
  const auto engine = LoadedWith(InStreams(OptionsOf({"mamba2", MemoryClass::kRecurrent})));
  EXPECT_FALSE(engine->traits().segments);
  EXPECT_TRUE(engine->traits().full_states);
}

TEST(LlamaSplice, AnAssembledSequenceIsAColdOneToTheBitInAnySlotBesideBusyNeighbours) {
  WithEveryMemory([](const Made& made, LlamaEngine* engine) {
    const TakenApart first(engine, 0, 1);
    const TakenApart second(engine, 1, 2);
    PrefillInto(2, engine, RandomPrompt(1000, 3), 0, 1000);
    const auto alone = LoadedWith(OptionsOf(made));
    EXPECT_EQ(Read(alone.get(), first.prompt, 0, 800), first.end);
    ASSERT_TRUE(engine->Assemble(1, 0, first.All(), kPosition, first.snapshot));
    first.ExpectSameEnd(engine, 1);
    ASSERT_TRUE(engine->Assemble(0, 0, second.All(), kPosition, second.snapshot));
    second.ExpectSameEnd(engine, 0);
    ASSERT_TRUE(engine->Assemble(2, 0, second.All(), kPosition, second.snapshot));
    second.ExpectSameEnd(engine, 2);
  });
}

TEST(LlamaSplice, KeepsTheFrontThatTheSequenceStillHolds) {
  WithEveryMemory([](const Made&, LlamaEngine* engine) {
    const TakenApart taken(engine, 0, 4);
    Tokens other = taken.prompt;
    for (size_t i = 320; i < other.size(); ++i) other[i] = (other[i] + 1) % 256;
    engine->Clear(1);
    PrefillInto(1, engine, other, 0, other.size());
    const std::vector<SegmentPart> rest = {{320, kPosition, taken.back}};
    ASSERT_TRUE(engine->Assemble(1, 320, rest, kPosition, taken.snapshot));
    taken.ExpectSameEnd(engine, 1);
  });
}

TEST(LlamaSplice, AForkIsAColdRunToTheBitAndItsOriginStaysAsItIs) {
  WithEveryMemory([](const Made&, LlamaEngine* engine) {
    const Tokens text = RandomPrompt(1000, 5);
    PrefillInto(0, engine, text, 0, 320);
    const Bytes snapshot = SnapshotOf(engine, 0);
    const auto wanted = PrefillInto(0, engine, text, 320, 1000);
    PrefillInto(1, engine, RandomPrompt(700, 6), 0, 700);
    const Bytes origin = *engine->TakeFullState(0);
    ASSERT_TRUE(engine->Fork(0, 1, 320, snapshot));
    EXPECT_EQ(PrefillInto(1, engine, text, 320, 1000), wanted);
    EXPECT_EQ(*engine->TakeFullState(0), origin);
    // The fork has cells of its own.
    engine->Clear(0);
    PrefillInto(0, engine, RandomPrompt(900, 7), 0, 900);
    ASSERT_TRUE(engine->Fork(1, 2, 320, snapshot));
    EXPECT_EQ(PrefillInto(2, engine, text, 320, 1000), wanted);
  });
}

TEST(LlamaSplice, AForkGoesOnWithOneTokenAtATimeAsItsOriginDoes) {
  WithEveryMemory([](const Made&, LlamaEngine* engine) {
    const Tokens text = RandomPrompt(400, 8);
    PrefillInto(0, engine, text, 0, 320);
    const Bytes snapshot = SnapshotOf(engine, 0);
    ASSERT_TRUE(engine->Fork(0, 2, 320, snapshot));
    for (size_t at = 320; at < text.size(); ++at) {
      const std::array<NextToken, 2> next = {NextToken{0, at, text[at]},
                                             NextToken{2, at, text[at]}};
      ASSERT_TRUE(engine->DecodeEach(next));
      const std::vector<float> origin(engine->LogitsOf(0).begin(), engine->LogitsOf(0).end());
      const std::vector<float> fork(engine->LogitsOf(1).begin(), engine->LogitsOf(1).end());
      ASSERT_EQ(origin, fork) << at;
    }
  });
}

// The state that TakeSegment keeps must not outlive what it was taken of.
TEST(LlamaSplice, ASegmentIsOfWhatTheSequenceHoldsNow) {
  WithEveryMemory([](const Made&, LlamaEngine* engine) {
    const TakenApart one(engine, 0, 9);
    const TakenApart two(engine, 1, 10);
    const auto take = [&](SeqId seq) { return *engine->TakeSegment(seq, 0, 320); };
    EXPECT_EQ(take(0), one.front);
    EXPECT_EQ(take(1), two.front);
    ASSERT_TRUE(engine->Assemble(1, 0, one.All(), kPosition, one.snapshot));
    EXPECT_EQ(take(1), one.front);
    const Bytes full_state = *engine->TakeFullState(1);
    ASSERT_TRUE(engine->Assemble(1, 0, two.All(), kPosition, two.snapshot));
    EXPECT_EQ(take(1), two.front);
    ASSERT_TRUE(engine->SetFullState(1, kPosition, full_state));
    EXPECT_EQ(take(1), one.front);
    engine->Clear(1);
    PrefillInto(1, engine, two.prompt, 0, 700);
    EXPECT_EQ(take(1), two.front);
    ASSERT_TRUE(engine->Fork(0, 1, kPosition, one.snapshot));
    EXPECT_EQ(take(1), one.front);
    engine->ReleaseTaken();
    EXPECT_EQ(take(1), one.front);
    PrefillInto(1, engine, one.prompt, kPosition, 800);
    const Bytes longer = *engine->TakeSegment(1, 320, kPosition + 64);
    EXPECT_EQ(longer, one.back);
  });
}

TEST(LlamaSplice, SegmentsGoFromAndToAnEngineWithOneBuffer) {
  WithEveryMemory([](const Made& made, LlamaEngine* streams) {
    const auto buffer = LoadedWith(OptionsOf(made));
    ASSERT_TRUE(buffer->traits().one_buffer);
    TakenApart from_streams(streams, 1, 11);
    TakenApart from_buffer(buffer.get(), 0, 11);
    EXPECT_EQ(from_streams.end, from_buffer.end);
    EXPECT_EQ(from_streams.front.size(), from_buffer.front.size());
    // A snapshot with a window names the streams, and is not for the other engine.
    std::swap(from_streams.snapshot, from_buffer.snapshot);
    ASSERT_TRUE(streams->Assemble(2, 0, from_buffer.All(), kPosition, from_buffer.snapshot));
    from_buffer.ExpectSameEnd(streams, 2);
    ASSERT_TRUE(buffer->Assemble(0, 0, from_streams.All(), kPosition, from_streams.snapshot));
    from_streams.ExpectSameEnd(buffer.get(), 0);
  });
}

// V lies transposed where there is no flash attention; quantised rows are blocks.
TEST(LlamaSplice, EveryTypeOfKvComesBackToTheBitAndSoDoesTransposedV) {
  struct Kind {
    const char* type;
    const char* flash_attention;
  };
  for (const Made& made :
       {Made{"llama", MemoryClass::kAttention}, Made{"gemma3", MemoryClass::kSlidingWindow, 96},
        Made{"qwen35", MemoryClass::kHybrid}}) {
    for (const Kind& kind : {Kind{"f16", "off"}, Kind{"f32", "off"}, Kind{"q8_0", "on"}}) {
      SCOPED_TRACE(Trace(made) + ", " + kind.type);
      LlamaOptions options = InStreams(OptionsOf(made));
      options.cache_type_k = options.cache_type_v = kind.type;
      options.flash_attention = kind.flash_attention;
      const auto engine = LoadedWith(options);
      ASSERT_TRUE(engine->traits().segments);
      const TakenApart taken(engine.get(), 0, 17);
      ASSERT_TRUE(engine->Assemble(2, 0, taken.All(), kPosition, taken.snapshot));
      taken.ExpectSameEnd(engine.get(), 2);
      ASSERT_TRUE(engine->Fork(0, 1, kPosition, taken.snapshot));
      taken.ExpectSameEnd(engine.get(), 1);
    }
  }
}

TEST(LlamaSplice, MovedTokensAreTakenInTheOrderOfTheirPositions) {
  const auto engine = LoadedWith(InStreams(OptionsOf({"llama", MemoryClass::kAttention})));
  ASSERT_TRUE(engine->traits().shifts);
  const Tokens text = RandomPrompt(700, 12);
  PrefillInto(0, engine.get(), text, 0, 600);
  ASSERT_TRUE(engine->Drop(0, 100, 300));
  PrefillInto(0, engine.get(), text, 400, 500);  // into the cells that are free now
  const Bytes all = *engine->TakeSegment(0, 0, 500);
  const std::array<SegmentPart, 1> parts = {SegmentPart{0, 500, all}};
  ASSERT_TRUE(engine->Assemble(1, 0, parts, 500, ByteSpan()));
  EXPECT_EQ(*engine->TakeSegment(1, 0, 500), all);
}

TEST(LlamaSplice, ASegmentOfOtherPositionsOrOfAnotherModelIsRefusedAndLeavesTheSequenceEmpty) {
  const auto other = LoadedWith(InStreams(OptionsOf({"granitehybrid", MemoryClass::kHybrid})));
  const TakenApart foreign(other.get(), 0, 13);
  WithEveryMemory([&](const Made&, LlamaEngine* engine) {
    const TakenApart taken(engine, 0, 13);
    const std::vector<std::vector<SegmentPart>> wrong = {
        {{0, kPosition, taken.front}},
        {{0, 320, taken.back}, {320, kPosition, taken.back}},
        {{0, 320, foreign.front}, {320, kPosition, taken.back}},
        {{0, 320, {}}, {320, kPosition, taken.back}}};
    for (const auto& parts : wrong) {
      const Status assembled = engine->Assemble(1, 0, parts, kPosition, taken.snapshot);
      ASSERT_FALSE(assembled.has_value());
      EXPECT_EQ(assembled.error().code, ErrorCode::kCorrupt);
      PrefillInto(1, engine, taken.prompt, 0, kPosition);
      taken.ExpectSameEnd(engine, 1);
    }
  });
}

// Bytes of data may change without being noticed: whoever moves segments out of this process checks
// them. Nothing else may, and nothing may end the process.
TEST(LlamaSplice, DamagedSegmentsAreRefusedOrChangeDataAlone) {
  WithEveryMemory([](const Made&, LlamaEngine* engine) {
    const TakenApart taken(engine, 0, 14);
    std::mt19937_64 random(15);
    size_t refused = 0;
    for (int round = 0; round < 60; ++round) {
      Bytes damaged = taken.front;
      const size_t among = round % 2 == 0 ? size_t{400} : damaged.size();
      damaged[random() % among] ^= static_cast<uint8_t>(1 + random() % 255);
      if (round % 6 == 0) damaged.resize(random() % damaged.size());
      if (round % 6 == 3) damaged.push_back(0);
      const std::vector<SegmentPart> parts = {{0, 320, damaged}, {320, kPosition, taken.back}};
      const Status assembled = engine->Assemble(1, 0, parts, kPosition, taken.snapshot);
      if (assembled) continue;
      ++refused;
      EXPECT_EQ(assembled.error().code, ErrorCode::kCorrupt);
    }
    EXPECT_GE(refused, 20U);
    ASSERT_TRUE(engine->Assemble(1, 0, taken.All(), kPosition, taken.snapshot));
    taken.ExpectSameEnd(engine, 1);
  });
}

TEST(LlamaSplice, ADamagedSnapshotIsRefusedAndTheOriginOfAForkGoesOn) {
  WithEveryMemory([](const Made&, LlamaEngine* engine) {
    if (!engine->traits().NeedsSnapshots()) return;
    const TakenApart taken(engine, 0, 16);
    const Bytes origin = *engine->TakeFullState(0);
    Bytes shorter = taken.snapshot;
    shorter.pop_back();
    for (const Bytes& snapshot : {Bytes(), shorter, Bytes(taken.snapshot.size(), 0xFF)}) {
      EXPECT_EQ(engine->Assemble(1, 0, taken.All(), kPosition, snapshot).error().code,
                ErrorCode::kCorrupt);
      EXPECT_EQ(engine->Fork(0, 1, kPosition, snapshot).error().code, ErrorCode::kCorrupt);
    }
    EXPECT_EQ(*engine->TakeFullState(0), origin);
    PrefillInto(1, engine, taken.prompt, 0, kPosition);
    taken.ExpectSameEnd(engine, 1);
  });
}

}  // namespace
}  // namespace cairn::llama_splice_test
