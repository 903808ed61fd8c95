// Several sequences in one LlamaEngine: decoded together, forked, and taken out as full states.
//
// Where sequences share one memory, other sequences change the order in which attention sums up,
// and so the last bits. Quantised weights and float16 sums turn those into differences of 1e-1,
// which would hide a lost token. So these tests compute in float32, where the differences stay
// below RoundingOf, and check that one token of the context makes more.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "engine/batch_probe.h"
#include "engine/llama/state/llama_full_states.h"
#include "testing/engine/llama_fixture.h"

namespace cairn::llama_slots_test {
namespace {

using test::kMade;
using test::Loaded;
using test::Made;
using test::PrefillInto;
using test::RandomPrompt;
using test::Read;
using test::Trace;

using Logits = std::vector<float>;

// Measured: 5e-6, and 1e-3 with gemma3, whose GELU is looked up in float16.
float RoundingOf(const Made& made) {
  return std::string_view(made.architecture) == "gemma3" ? 1e-2F : 5e-5F;
}

LlamaOptions OptionsOf(const Made& made, size_t context_tokens) {
  LlamaOptions options = test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens));
  options.slots = 2;
  options.context_tokens = context_tokens;
  return options;
}

LlamaOptions InFloat32(const Made& made, size_t context_tokens) {
  LlamaOptions options =
      test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens, "f32"));
  options.slots = 2;
  options.context_tokens = context_tokens;
  options.cache_type_k = "f32";
  options.cache_type_v = "f32";
  options.flash_attention = "off";  // it would sum in float16 regardless
  return options;
}

std::unique_ptr<LlamaEngine> LoadedWith(const LlamaOptions& options) {
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

float Distance(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float distance = std::abs(a[i] - b[i]);
    if (std::isnan(distance)) return std::numeric_limits<float>::infinity();
    largest = std::max(largest, distance);
  }
  return largest;
}

Bytes SnapshotOf(Engine* engine, SeqId seq) {
  return engine->traits().NeedsSnapshots() ? *engine->TakeSnapshot(seq) : Bytes();
}

TEST(LlamaSlots, SaysWhatItsSlotsHold) {
  LlamaOptions options = OptionsOf({"llama", MemoryClass::kAttention}, 1024);
  options.slots = 3;
  const auto shared = LoadedWith(options);
  EXPECT_EQ(shared->slots(), 3u);
  EXPECT_EQ(shared->context_tokens(), 1024u);
  EXPECT_EQ(shared->cells(), 1024u);
  EXPECT_TRUE(shared->traits().segments);
  EXPECT_TRUE(shared->traits().full_states);
  options.context_tokens = 1536;
  options.unified = false;
  const auto apart = LoadedWith(options);
  EXPECT_EQ(apart->context_tokens(), 512u);
  EXPECT_EQ(apart->cells(), 1536u);
  EXPECT_TRUE(apart->traits().segments);
  EXPECT_TRUE(shared->traits().one_buffer);
  EXPECT_FALSE(apart->traits().one_buffer);
  EXPECT_TRUE(apart->traits().full_states);
  for (const size_t slots : {0, 100'000}) {
    options.slots = slots;
    const auto engine = LlamaEngine::Load(options);
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(engine.error().message.find("--parallel"), std::string::npos);
  }
}

// Two answers of 60 tokens, decoded together and each by itself.
void ExpectAnswersAsAlone(const LlamaOptions& options, LlamaEngine* alone, float rounding) {
  const auto engine = LoadedWith(options);
  const std::array<Tokens, 2> texts = {RandomPrompt(400, 1), RandomPrompt(400, 2)};
  const std::array<size_t, 2> begins = {200, 230};
  std::array<std::vector<Logits>, 2> wanted;
  for (size_t slot = 0; slot < 2; ++slot) {
    alone->Clear(0);
    Read(alone, texts.at(slot), 0, begins.at(slot));
    for (size_t at = begins.at(slot); at < begins.at(slot) + 60; ++at) {
      wanted.at(slot).push_back(Read(alone, texts.at(slot), at, at + 1));
    }
    PrefillInto(static_cast<SeqId>(slot), engine.get(), texts.at(slot), 0, begins.at(slot));
  }
  for (size_t i = 0; i < 60; ++i) {
    // In any order.
    const std::array<NextToken, 2> next = {NextToken{1, begins[1] + i, texts[1][begins[1] + i]},
                                           NextToken{0, begins[0] + i, texts[0][begins[0] + i]}};
    ASSERT_TRUE(engine->DecodeEach(next).has_value());
    ASSERT_LT(Distance(engine->LogitsOf(0), wanted[1][i]), rounding) << i;
    ASSERT_LT(Distance(engine->LogitsOf(1), wanted[0][i]), rounding) << i;
    ASSERT_GT(Distance(engine->LogitsOf(0), wanted[0][i]), 10 * rounding) << i;
  }
}

TEST(LlamaSlots, AnswersDecodedTogetherAreThoseDecodedAlone) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    LlamaOptions options = InFloat32(made, 2048);
    const auto alone = LoadedWith(options);
    ExpectAnswersAsAlone(options, alone.get(), RoundingOf(made));
    options.unified = false;
    ExpectAnswersAsAlone(options, alone.get(), RoundingOf(made));
  }
}

// ggml's kernels for AMX do, on qwen35, lfm2 and jamba: such a model is loaded without them.
TEST(LlamaSlots, KernelsOfThisCpuMixUpNoTokensAndNoSequences) {
  unsetenv("CAIRN_BACKENDS_DIR");
  std::vector<Made> all(std::begin(kMade), std::end(kMade));
  all.push_back({"jamba", MemoryClass::kHybrid});
  for (const Made& made : all) {
    SCOPED_TRACE(Trace(made));
    for (const bool unified : {true, false}) {
      LlamaOptions options = OptionsOf(made, 1024);
      options.unified = unified;
      const auto engine = LoadedWith(options);
      EXPECT_EQ(MixesUpTokens(engine.get()), false);
      EXPECT_EQ(MixesUpSequences(engine.get()), false);
    }
  }
}

// Chunks of two prompts, at other positions, together and each by itself.
void ExpectChunksAsAlone(const LlamaOptions& options, LlamaEngine* alone, float rounding) {
  const auto engine = LoadedWith(options);
  ASSERT_TRUE(engine->traits().chunks_together);
  const std::array<Tokens, 2> texts = {RandomPrompt(300, 6), RandomPrompt(300, 7)};
  const std::array<size_t, 2> begins = {128, 64};
  const std::array<size_t, 2> ends = {192, 128};
  std::array<Logits, 2> wanted;
  std::array<Logits, 2> wanted_next;
  for (size_t slot = 0; slot < 2; ++slot) {
    const Tokens& text = texts.at(slot);
    alone->Clear(0);
    Read(alone, text, 0, begins.at(slot));
    wanted.at(slot) = Read(alone, text, begins.at(slot), ends.at(slot));
    wanted_next.at(slot) = Read(alone, text, ends.at(slot), ends.at(slot) + 1);
    PrefillInto(static_cast<SeqId>(slot), engine.get(), text, 0, begins.at(slot));
  }
  std::vector<SeqChunk> chunks;
  std::vector<NextToken> next;
  for (const size_t slot : {0, 1}) {
    const TokenSpan text = texts.at(slot);
    const auto seq = static_cast<SeqId>(slot);
    chunks.push_back(
        {seq, begins.at(slot), text.subspan(begins.at(slot), ends.at(slot) - begins.at(slot))});
    next.push_back({seq, ends.at(slot), text[ends.at(slot)]});
  }
  ASSERT_TRUE(engine->DecodeChunks(chunks, ChunkLogits::kLast).has_value());
  const size_t first_end = ends[0] - begins[0];
  EXPECT_LT(Distance(engine->LogitsOf(first_end - 1), wanted[0]), rounding);
  EXPECT_LT(Distance(engine->Logits(), wanted[1]), rounding);
  EXPECT_GT(Distance(engine->Logits(), wanted[0]), 10 * rounding);
  // What they left behind is what each alone leaves.
  ASSERT_TRUE(engine->DecodeEach(next).has_value());
  EXPECT_LT(Distance(engine->LogitsOf(0), wanted_next[0]), rounding);
  EXPECT_LT(Distance(engine->LogitsOf(1), wanted_next[1]), rounding);
}

TEST(LlamaSlots, ChunksPrefilledTogetherAreThosePrefilledAlone) {
  for (const Made& made : kMade) {
    if (made.memory_class == MemoryClass::kSlidingWindow) continue;  // chunks_together is false
    SCOPED_TRACE(Trace(made));
    LlamaOptions options = InFloat32(made, 2048);
    const auto alone = LoadedWith(options);
    ExpectChunksAsAlone(options, alone.get(), RoundingOf(made));
    options.unified = false;
    ExpectChunksAsAlone(options, alone.get(), RoundingOf(made));
  }
}

TEST(LlamaSlots, WithoutRoomNothingChangesAndAnotherSlotsRoomIsEnough) {
  for (const Made& made : kMade) {
    if (made.memory_class == MemoryClass::kRecurrent) continue;  // it needs no room
    SCOPED_TRACE(Trace(made));
    const auto engine = LoadedWith(OptionsOf(made, 512));
    const Tokens text = RandomPrompt(500, 3);
    PrefillInto(0, engine.get(), text, 0, 384);
    PrefillInto(1, engine.get(), text, 0, 64);
    const auto expect_no_room = [&](const auto& decode) {
      const std::array<Bytes, 2> before = {*engine->TakeFullState(0), *engine->TakeFullState(1)};
      const Status decoded = decode();
      ASSERT_FALSE(decoded.has_value());
      EXPECT_EQ(decoded.error().code, ErrorCode::kNoSpace);
      EXPECT_EQ(*engine->TakeFullState(0), before[0]);
      EXPECT_EQ(*engine->TakeFullState(1), before[1]);
    };
    // 64 cells are left, and the chunk has twice as many tokens.
    expect_no_room([&] { return engine->Decode(1, 64, TokenSpan(text).subspan(64, 128)); });
    const auto last = PrefillInto(1, engine.get(), text, 64, 128);
    const std::array<NextToken, 2> next = {NextToken{0, 384, text[384]},
                                           NextToken{1, 128, text[128]}};
    expect_no_room([&] { return engine->DecodeEach(next); });
    engine->Clear(0);
    PrefillInto(1, engine.get(), text, 128, 384);
    // The limit of one slot is a separate check.
    engine->Clear(1);
    PrefillInto(0, engine.get(), RandomPrompt(512, 4), 0, 512);
    EXPECT_EQ(engine->Decode(0, 512, TokenSpan(text).first(1)).error().code, ErrorCode::kTooLong);
    EXPECT_EQ(engine->DecodeEach(std::array{NextToken{0, 512, 1}}).error().code,
              ErrorCode::kTooLong);
  }
}

TEST(LlamaSlots, WithAStreamEachOneFillsNothingOfTheOthers) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    LlamaOptions options = OptionsOf(made, 1024);
    options.unified = false;
    const auto engine = LoadedWith(options);
    const Tokens text = RandomPrompt(512, 5);
    const auto wanted = PrefillInto(0, engine.get(), text, 0, 512);
    EXPECT_EQ(PrefillInto(1, engine.get(), text, 0, 512), wanted);
    EXPECT_EQ(engine->Decode(1, 512, TokenSpan(text).first(1)).error().code, ErrorCode::kTooLong);
  }
}

TEST(LlamaSlots, AForkTakesNoRoomForWhatItShares) {
  const auto engine = LoadedWith(OptionsOf({"qwen35", MemoryClass::kHybrid}, 512));
  const Tokens text = RandomPrompt(448, 6);
  PrefillInto(0, engine.get(), text, 0, 384);
  const Bytes snapshot = *engine->TakeSnapshot(0);
  ASSERT_TRUE(engine->Fork(0, 1, 384, snapshot).has_value());
  PrefillInto(0, engine.get(), text, 384, 448);
  PrefillInto(1, engine.get(), text, 384, 448);
  // Cells that both share stay when one of the sequences is gone.
  const auto wanted = *engine->TakeSnapshot(1);
  engine->Clear(0);
  EXPECT_EQ(*engine->TakeSnapshot(1), wanted);
  // 64 of the first slot's cells are free now; the shared ones are not.
  EXPECT_TRUE(engine->Decode(1, 448, TokenSpan(text).first(64)).has_value());
}

// Two conversations that fork from each other, again and again.
class Branches {
 public:
  Branches(const Made& made, size_t context_tokens)
      : rounding_(RoundingOf(made)),
        engine_(LoadedWith(InFloat32(made, context_tokens))),
        alone_(LoadedWith(InFloat32(made, context_tokens))) {
    GoOnBySteps(0, 300);
  }

  void Fork(SeqId from, SeqId to) {
    const size_t end = Text(from).size();
    const Bytes snapshot = SnapshotOf(engine_.get(), from);
    const Status forked = engine_->Fork(from, to, end, snapshot);
    ASSERT_TRUE(forked.has_value()) << forked.error().message;
    Text(to) = Text(from);
  }

  // Prefills a prompt for each, then decodes an answer for both.
  void GoOn(size_t prompt_tokens, size_t answer_tokens) {
    GoOnBySteps(0, prompt_tokens);
    GoOnBySteps(1, prompt_tokens);
    for (size_t i = 0; i < answer_tokens; ++i) {
      std::array<NextToken, 2> next;
      for (SeqId seq = 0; seq < 2; ++seq) {
        next.at(seq) = {seq, Text(seq).size(), static_cast<Token>(random_() % 256)};
        Text(seq).push_back(next.at(seq).token);
      }
      const Status decoded = engine_->DecodeEach(next);
      ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    }
  }

  // Expects, after GoOn, that both are where a run of their own would be.
  void ExpectAsAlone() {
    for (SeqId seq = 0; seq < 2; ++seq) {
      const auto index = static_cast<size_t>(seq);
      const float distance = Distance(engine_->LogitsOf(index), Alone(Text(seq)));
      EXPECT_LT(distance, rounding_) << Text(seq).size() << " tokens";
      Tokens other = Text(seq);
      Token& changed = other[other.size() - 30];
      changed = (changed + 1) % 256;
      const float moved = Distance(engine_->LogitsOf(index), Alone(other));

      EXPECT_GT(moved, 2 * rounding_);
    }
  }

 private:
  Tokens& Text(SeqId seq) { return texts_.at(static_cast<size_t>(seq)); }

  void GoOnBySteps(SeqId seq, size_t tokens) {
    const size_t begin = Text(seq).size();
    for (size_t i = 0; i < tokens; ++i) Text(seq).push_back(static_cast<Token>(random_() % 256));
    PrefillInto(seq, engine_.get(), Text(seq), begin, begin + tokens, 128);
  }

  Logits Alone(const Tokens& text) {
    alone_->Clear(0);
    return Read(alone_.get(), text, 0, text.size(), 128);
  }

  const float rounding_;
  const std::unique_ptr<LlamaEngine> engine_;
  const std::unique_ptr<LlamaEngine> alone_;
  std::array<Tokens, 2> texts_;
  std::mt19937_64 random_{7};
};

TEST(LlamaSlots, ForksGoOnForThousandsOfTokensAndNeverStarve) {
  const std::array<Made, 3> tried = {{{"gemma3", MemoryClass::kSlidingWindow, 96},
                                      {"gpt-oss", MemoryClass::kSlidingWindow, 128},
                                      {"qwen35", MemoryClass::kHybrid}}};
  for (const Made& made : tried) {
    SCOPED_TRACE(Trace(made));
    Branches branches(made, 8192);
    for (int round = 0; round < 6; ++round) {
      branches.Fork(round % 2, 1 - round % 2);
      branches.GoOn(320, 60);
      if (testing::Test::HasFatalFailure()) return;
    }
    branches.ExpectAsAlone();
  }
}

TEST(LlamaSlots, AForkMayBeginBeforeWhereItsOriginStands) {
  for (const Made& made : kMade) {
    if (made.memory_class == MemoryClass::kRecurrent) continue;
    SCOPED_TRACE(Trace(made));
    const auto engine = LoadedWith(InFloat32(made, 4096));
    const Tokens text = RandomPrompt(1000, 8);
    Read(engine.get(), text, 0, 320);
    const Bytes snapshot = SnapshotOf(engine.get(), 0);
    const auto wanted = Read(engine.get(), text, 320, 1000);
    const Bytes origin = *engine->TakeFullState(0);
    ASSERT_TRUE(engine->Fork(0, 1, 320, snapshot).has_value());
    EXPECT_LT(Distance(PrefillInto(1, engine.get(), text, 320, 1000), wanted), RoundingOf(made));
    EXPECT_EQ(*engine->TakeFullState(0), origin) << "it stays as it is";
  }
}

TEST(LlamaSlots, AForkWithAWrongSnapshotIsEmptyAndItsOriginGoesOn) {
  const auto engine = LoadedWith(OptionsOf({"gemma3", MemoryClass::kSlidingWindow, 96}, 4096));
  const Tokens text = RandomPrompt(400, 9);
  Read(engine.get(), text, 0, 320);
  Bytes snapshot = *engine->TakeSnapshot(0);
  const Bytes origin = *engine->TakeFullState(0);
  snapshot.pop_back();
  EXPECT_EQ(engine->Fork(0, 1, 320, snapshot).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(*engine->TakeFullState(0), origin);
  PrefillInto(1, engine.get(), text, 0, 320);
}

// A state moves from one slot to another, while the first holds other tokens.
void ExpectTheSameBitsInAnotherSlot(LlamaEngine* engine) {
  const Tokens text = RandomPrompt(500, 10);
  Read(engine, text, 0, 320);
  const Bytes whole = *engine->TakeFullState(0);
  const auto wanted = Read(engine, text, 320, 500);
  PrefillInto(1, engine, RandomPrompt(300, 11), 0, 300);
  engine->Clear(0);
  Read(engine, RandomPrompt(450, 12), 0, 450);
  ASSERT_TRUE(engine->SetFullState(1, 320, whole).has_value());
  EXPECT_EQ(PrefillInto(1, engine, text, 320, 500), wanted);
}

TEST(LlamaFullStates, GiveTheSameBitsInAnotherSlotWithAStreamEach) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    LlamaOptions options = OptionsOf(made, 2048);
    options.unified = false;
    const auto engine = LoadedWith(options);
    ASSERT_TRUE(engine->traits().full_states);
    ExpectTheSameBitsInAnotherSlot(engine.get());
  }
}

TEST(LlamaFullStates, GiveTheSameBitsWhereTheyWereTaken) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    ASSERT_TRUE(engine->traits().full_states);
    const Tokens text = RandomPrompt(500, 13);
    Read(engine.get(), text, 0, 320);
    const Bytes whole = *engine->TakeFullState(0);
    const auto wanted = Read(engine.get(), text, 320, 500);
    engine->Clear(0);
    Read(engine.get(), RandomPrompt(450, 14), 0, 450);
    ASSERT_TRUE(engine->SetFullState(0, 320, whole).has_value());
    EXPECT_EQ(Read(engine.get(), text, 320, 500), wanted);
  }
}

TEST(LlamaFullStates, AreRefusedWhenCutShortOrOfAnotherPositionOrModel) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Loaded(made);
    const Tokens text = RandomPrompt(192, 15);
    const auto wanted = Read(engine.get(), text, 0, 192);
    const Bytes good = *engine->TakeFullState(0);
    std::vector<Bytes> bad = {{}, Bytes(good.size(), 0xFF), good};
    bad.back().push_back(0);
    for (const size_t size : {LlamaFullStates::kHeaderBytes, good.size() / 2, good.size() - 1}) {
      bad.emplace_back(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    }
    const auto other = Loaded({"granitehybrid", MemoryClass::kHybrid});
    Read(other.get(), text, 0, 192);
    bad.push_back(*other->TakeFullState(0));
    for (const Bytes& bytes : bad) {
      EXPECT_EQ(engine->SetFullState(0, 192, bytes).error().code, ErrorCode::kCorrupt);
      EXPECT_EQ(Read(engine.get(), text, 0, 192), wanted);
    }
    EXPECT_EQ(engine->SetFullState(0, 191, good).error().code, ErrorCode::kCorrupt);
    ASSERT_TRUE(engine->SetFullState(0, 192, good).has_value());
  }
}

LlamaOptions KeepingTheWindow(bool unified) {
  LlamaOptions options = InFloat32({"gemma3", MemoryClass::kSlidingWindow, 96}, 2048);
  options.unified = unified;
  options.swa_full = true;
  return options;
}

// libllama writes of such a sequence only the rows of the window at its end.
TEST(LlamaFullStates, OfAWindowThatIsKeptWholeGoOnAtTheirEnd) {
  for (const bool unified : {true, false}) {
    SCOPED_TRACE(unified);
    const auto engine = LoadedWith(KeepingTheWindow(unified));
    ASSERT_TRUE(engine->traits().full_states);
    EXPECT_EQ(engine->traits().window_tokens, 96u);
    EXPECT_FALSE(engine->traits().segments);
    const Tokens text = RandomPrompt(500, 17);
    PrefillInto(0, engine.get(), text, 0, 320);
    const Bytes whole = *engine->TakeFullState(0);
    const auto wanted = PrefillInto(0, engine.get(), text, 320, 500);
    ASSERT_TRUE(engine->SetFullState(1, 320, whole).has_value());
    EXPECT_LT(Distance(PrefillInto(1, engine.get(), text, 320, 500), wanted), RoundingOf(kMade[1]));
  }
}

TEST(LlamaFullStates, OfAWindowThatIsKeptWholeAreCutOnlyWhereTheWindowIsThere) {
  const Made made = {"gemma3", MemoryClass::kSlidingWindow, 96};
  for (const bool unified : {true, false}) {
    SCOPED_TRACE(unified);
    const auto engine = LoadedWith(KeepingTheWindow(unified));
    const Tokens text = RandomPrompt(500, 18);
    PrefillInto(0, engine.get(), text, 0, 320);
    EXPECT_TRUE(engine->CanTruncate(0, 64)) << "it was decoded here";
    const Bytes whole = *engine->TakeFullState(0);
    ASSERT_TRUE(engine->SetFullState(1, 320, whole).has_value());
    for (const size_t missing : {size_t{1}, size_t{64}, size_t{256}, size_t{318}}) {
      EXPECT_FALSE(engine->CanTruncate(1, missing)) << missing;
    }
    PrefillInto(1, engine.get(), text, 320, 500);
    EXPECT_FALSE(engine->CanTruncate(1, 318));
    ASSERT_TRUE(engine->CanTruncate(1, 384));
    ASSERT_TRUE(engine->Truncate(1, 384).has_value());
    const auto again = PrefillInto(1, engine.get(), text, 384, 448);
    ASSERT_TRUE(engine->Truncate(0, 0).has_value());
    EXPECT_LT(Distance(again, PrefillInto(0, engine.get(), text, 0, 448)), RoundingOf(made));
  }
}

TEST(LlamaFullStates, OfAConversationWithinAWindowThatIsKeptWholeAreCutAnywhere) {
  const Made made = {"gemma3", MemoryClass::kSlidingWindow, 96};
  const auto engine = LoadedWith(KeepingTheWindow(true));
  const Tokens text = RandomPrompt(96, 19);
  PrefillInto(0, engine.get(), text, 0, 96);
  const Bytes whole = *engine->TakeFullState(0);
  ASSERT_TRUE(engine->SetFullState(1, 96, whole).has_value());
  ASSERT_TRUE(engine->CanTruncate(1, 1));
  ASSERT_TRUE(engine->Truncate(1, 32).has_value());
  ASSERT_TRUE(engine->Truncate(0, 32).has_value());
  EXPECT_LT(Distance(PrefillInto(1, engine.get(), text, 32, 96),
                     PrefillInto(0, engine.get(), text, 32, 96)),
            RoundingOf(made));
}

// libllama only reports that it failed; a good state must not be mistaken for a bad one.
TEST(LlamaFullStates, WithoutRoomSayThatAndNotThatTheyAreWrong) {
  for (const Made& made : kMade) {
    if (made.memory_class == MemoryClass::kRecurrent) continue;
    SCOPED_TRACE(Trace(made));
    const auto engine = LoadedWith(OptionsOf(made, 512));
    const Tokens text = RandomPrompt(384, 16);
    PrefillInto(1, engine.get(), text, 0, 384);
    const Bytes whole = *engine->TakeFullState(1);
    const Bytes segment = *engine->TakeSegment(1, 0, 384);
    engine->Clear(1);
    PrefillInto(0, engine.get(), text, 0, 256);
    EXPECT_EQ(engine->SetFullState(1, 384, whole).error().code, ErrorCode::kNoSpace);
    const std::array<SegmentPart, 1> parts = {SegmentPart{0, 384, segment}};
    EXPECT_EQ(engine->Assemble(1, 0, parts, 384, ByteSpan()).error().code, ErrorCode::kNoSpace);
    engine->Clear(0);
    EXPECT_TRUE(engine->SetFullState(1, 384, whole).has_value());
  }
}

}  // namespace
}  // namespace cairn::llama_slots_test
