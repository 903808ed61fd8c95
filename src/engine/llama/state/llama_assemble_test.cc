// Segments through LlamaEngine: a sequence is taken apart, and assembled again after other
// sequences used the context.

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "testing/engine/taken_apart.h"

namespace cairn::llama_assemble_test {
namespace {

using test::kMade;
using test::Made;
using test::RandomPrompt;
using test::Read;
using test::TakenApart;
using test::Trace;

constexpr size_t kPosition = TakenApart::kPosition;

template <typename Test>
void WithEveryEngineOfSegments(const Test& what, size_t slots = 1) {
  int tested = 0;
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    LlamaOptions options =
        test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens));
    options.slots = slots;
    const auto loaded = LlamaEngine::Load(options);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    const std::unique_ptr<LlamaEngine>& engine = *loaded;
    if (made.memory_class == MemoryClass::kRecurrent) {
      EXPECT_FALSE(engine->traits().segments);
      continue;
    }
    if (!engine->traits().segments) continue;
    what(engine.get());
    ++tested;
  }
  EXPECT_GE(tested, 5);
}

// A step of an assembly in sequence 0.
Status AddPart(Engine* engine, const SegmentPart& part) {
  return engine->Assemble(0, part.begin, {&part, 1}, part.end, std::nullopt);
}

TEST(LlamaAssemble, ASequenceComesBackToTheBitAfterAnotherTookItsPlace) {
  WithEveryEngineOfSegments([](Engine* engine) {
    const TakenApart first(engine, 0, 1);
    const TakenApart second(engine, 0, 2);
    ASSERT_TRUE(engine->Assemble(0, 0, first.All(), kPosition, first.snapshot));
    first.ExpectSameEnd(engine, 0);
    ASSERT_TRUE(engine->Assemble(0, 0, second.All(), kPosition, second.snapshot));
    second.ExpectSameEnd(engine, 0);
  });
}

TEST(LlamaAssemble, KeepsTheFrontThatTheSequenceStillHolds) {
  WithEveryEngineOfSegments([](Engine* engine) {
    const TakenApart taken(engine, 0, 3);
    Tokens other = taken.prompt;
    for (size_t i = 320; i < other.size(); ++i) other[i] = (other[i] + 1) % 256;
    engine->Clear(0);
    Read(engine, other, 0, other.size());
    const std::vector<SegmentPart> rest = {{320, kPosition, taken.back}};
    ASSERT_TRUE(engine->Assemble(0, 320, rest, kPosition, taken.snapshot));
    taken.ExpectSameEnd(engine, 0);
  });
}

TEST(LlamaAssemble, InStepsIsTheSameToTheBitAlsoBesideAnAnswer) {
  WithEveryEngineOfSegments(
      [](Engine* engine) {
        if (!engine->traits().one_buffer) return;
        const TakenApart taken(engine, 0, 6);
        engine->Clear(0);
        const Tokens answer = RandomPrompt(3, 7);
        for (size_t i = 0; i < 2; ++i) {
          ASSERT_TRUE(AddPart(engine, taken.All()[i]));
          ASSERT_TRUE(engine->Decode(1, i, TokenSpan(answer).subspan(i, 1)));
        }
        ASSERT_TRUE(engine->Assemble(0, kPosition, {}, kPosition, taken.snapshot));
        taken.ExpectSameEnd(engine, 0);
        // The answer went on as if nothing had been beside it.
        ASSERT_TRUE(engine->Decode(1, 2, TokenSpan(answer).last(1)));
        const std::vector<float> beside(engine->Logits().begin(), engine->Logits().end());
        engine->Clear(1);
        for (size_t i = 0; i < 3; ++i) {
          ASSERT_TRUE(engine->Decode(1, i, TokenSpan(answer).subspan(i, 1)));
        }
        EXPECT_EQ(beside, std::vector<float>(engine->Logits().begin(), engine->Logits().end()));
        engine->Clear(1);
      },
      2);
}

TEST(LlamaAssemble, StepsThatEndEarlyLeaveNothing) {
  WithEveryEngineOfSegments([](Engine* engine) {
    if (!engine->traits().one_buffer) return;
    const TakenApart taken(engine, 0, 8);
    ASSERT_TRUE(AddPart(engine, taken.All()[0]));
    engine->Clear(0);
    EXPECT_FALSE(AddPart(engine, {0, kPosition, taken.front}).has_value());
    Read(engine, taken.prompt, 0, kPosition);
    taken.ExpectSameEnd(engine, 0);
  });
}

TEST(LlamaAssemble, ASegmentOfOtherPositionsIsRefusedAndLeavesTheSequenceEmpty) {
  WithEveryEngineOfSegments([](Engine* engine) {
    const TakenApart taken(engine, 0, 4);
    const std::vector<SegmentPart> wrong = {{0, kPosition, taken.front}};
    const Status assembled = engine->Assemble(0, 0, wrong, kPosition, taken.snapshot);
    ASSERT_FALSE(assembled.has_value());
    EXPECT_EQ(assembled.error().code, ErrorCode::kCorrupt);
    Read(engine, taken.prompt, 0, kPosition);
    taken.ExpectSameEnd(engine, 0);
  });
}

TEST(LlamaAssemble, ATruncatedSegmentIsRefused) {
  WithEveryEngineOfSegments([](Engine* engine) {
    const TakenApart taken(engine, 0, 5);
    for (const size_t bytes : {size_t{0}, size_t{20}, size_t{40}, taken.front.size() - 100}) {
      std::vector<SegmentPart> parts = taken.All();
      parts[0].bytes = parts[0].bytes.first(bytes);
      EXPECT_FALSE(engine->Assemble(0, 0, parts, kPosition, taken.snapshot).has_value());
    }
    ASSERT_TRUE(engine->Assemble(0, 0, taken.All(), kPosition, taken.snapshot));
    taken.ExpectSameEnd(engine, 0);
  });
}

}  // namespace
}  // namespace cairn::llama_assemble_test
