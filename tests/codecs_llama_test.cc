// A conversation that goes on after a restart, on the real libllama: its state went through a file
// of each codec, on made models of every memory class.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "cmd/codec_figures.h"
#include "engine/llama_fixture.h"
#include "engine/state_rows.h"
#include "made_model.h"
#include "store/codec.h"
#include "store/disk_files.h"
#include "store/disk_store.h"

namespace cairn {
namespace {

using test::Made;

constexpr SeqId kSeq = 0;
constexpr size_t kPosition = 320;
constexpr size_t kNextTokens = 64;
constexpr double kPatienceMs = 60'000;
constexpr Fingerprint kModel = {1, 2};

constexpr std::array<Made, 5> kModels = {{
    {"llama", MemoryClass::kAttention},
    {"gpt-oss", MemoryClass::kSlidingWindow, 128},
    {"mamba2", MemoryClass::kRecurrent},
    {"qwen35", MemoryClass::kHybrid},
    {"falcon-h1", MemoryClass::kHybrid},
}};

// How far the logits of the next tokens may go astray, as the mean Kullback-Leibler divergence in
// nats. Logits with an error d differ by about the variance of d over 2. Packed rows have a
// relative error r of 5e-4 (fp16), 1.5e-2 (int8) and 6e-5 (rint16), see pack_floats_test.cc; what a
// layer makes of them goes on into the next, and logits are a few wide, so d comes to some ten
// times r at most, and a divergence of 50 r² is allowed: 1.3e-5, 1.2e-2, 1.8e-7. Below 1e-6 the
// floats that logits are made of show.
double DivergenceMax(Codec codec) {
  switch (codec) {
    case Codec::kFp16:
      return 1.3e-5;
    case Codec::kInt8:
      return 1.2e-2;
    case Codec::kRint16:
      return 1e-6;
    case Codec::kRaw:
    case Codec::kLossless:
      break;
  }
  return 0;
}

// With weights of f32: where they are quantised, libllama rounds what goes through each layer to 8
// bits, and one bit that moves anywhere moves logits as far as a codec of 8 bits does.
std::unique_ptr<LlamaEngine> LoadedPrecise(const Made& made) {
  auto engine = LlamaEngine::Load(
      test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens, "f32")));
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? *std::move(engine) : nullptr;
}

// What a server keeps of a conversation that stands at kPosition.
struct Kept {
  Tokens prompt;
  Bytes snapshot;  // and the logits behind it
  size_t logits_bytes = 0;
  Bytes segment;
};

ObjectHeader HeaderOf(const Kept& kept, ObjectKind kind) {
  ObjectHeader header;
  header.kind = kind;
  header.fingerprint = kModel;
  header.tokens = kept.prompt;
  header.worth_ms = 1000;
  if (kind == ObjectKind::kSnapshot) header.logits_bytes = kept.logits_bytes;
  return header;
}

Kept TakeKept(Engine* engine) {
  Kept kept;
  kept.prompt = test::RandomPrompt(kPosition, 1);
  const std::vector<float> logits = test::Read(engine, kept.prompt, 0, kPosition);
  if (engine->traits().NeedsSnapshots()) kept.snapshot = engine->TakeSnapshot(kSeq).value();
  kept.logits_bytes = logits.size() * sizeof(float);
  const size_t state_bytes = kept.snapshot.size();
  kept.snapshot.resize(state_bytes + kept.logits_bytes);
  std::memcpy(&kept.snapshot[state_bytes], logits.data(), kept.logits_bytes);
  if (engine->traits().segments) kept.segment = engine->TakeSegment(kSeq, 0, kPosition).value();
  return kept;
}

class CodecsLlama : public testing::Test {
 protected:
  CodecsLlama() { std::filesystem::remove_all(folder_); }
  ~CodecsLlama() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<DiskStore> Open(Codec codec) {
    DiskStoreOptions options;
    options.folder = folder_;
    options.fingerprint = kModel;
    options.reserve_bytes = 0;
    options.codec = codec;
    options.find_rows = FindFloatRows;
    options.now_ns = [] {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    };
    return DiskStore::Open(fs_.get(), std::move(options));
  }

  // Returns when it is on disk.
  void Write(Codec codec, const Kept& kept) {
    const auto store = Open(codec);
    const auto write = [&](ObjectKind kind, const Bytes& bytes) {
      if (bytes.empty()) return;
      ASSERT_TRUE(store->Write(HeaderOf(kept, kind), std::make_shared<const Bytes>(bytes)));
    };
    write(ObjectKind::kSegment, kept.segment);
    write(ObjectKind::kSnapshot, kept.snapshot);
    ASSERT_TRUE(store->Drain(kPatienceMs));
  }

  // What a server finds that was started anew.
  Kept ReadBack(const Kept& kept) {
    const auto store = Open(Codec::kRaw);
    Kept back = kept;
    const auto read = [&](ObjectKind kind, Bytes* bytes) {
      if (bytes->empty()) return;
      auto found = store->Read(NameOf(HeaderOf(kept, kind)));
      ASSERT_TRUE(found.has_value()) << found.error().message;
      ASSERT_EQ(found->size(), bytes->size());
      *bytes = *std::move(found);
    };
    read(ObjectKind::kSegment, &back.segment);
    read(ObjectKind::kSnapshot, &back.snapshot);
    return back;
  }

  Codec CodecInFile(const Kept& kept, ObjectKind kind) {
    const std::string path = folder_ + "/" + ToText(kModel);
    const ObjectName name = NameOf(HeaderOf(kept, kind));
    const auto stat = fs_->Stat(path + "/" + ObjectFileName(name));
    EXPECT_TRUE(stat.has_value());
    return ReadFront(*fs_, path, name, stat->bytes)->header.codec;
  }

  const std::unique_ptr<Fs> fs_ = MakeRealFs();
  const std::string folder_ = test::OwnPath("codecs_llama_test");
};

void SetBack(Engine* engine, const Kept& kept) {
  const ByteSpan state = ByteSpan(kept.snapshot).first(kept.snapshot.size() - kept.logits_bytes);
  if (kept.segment.empty()) {
    ASSERT_TRUE(engine->Restore(kSeq, kPosition, state).has_value());
    return;
  }
  const std::array<SegmentPart, 1> parts = {SegmentPart{0, kPosition, kept.segment}};
  ASSERT_TRUE(engine->Join(kSeq, 0, parts, kPosition, state).has_value());
}

// The logits after each of the next tokens, which are the same for everybody.
std::vector<std::vector<float>> GoOn(Engine* engine) {
  const Tokens next = test::RandomPrompt(kNextTokens, 2);
  std::vector<std::vector<float>> logits;
  for (size_t i = 0; i < next.size(); ++i) {
    const Status decoded = engine->Decode(kSeq, kPosition + i, TokenSpan(next).subspan(i, 1));
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    logits.emplace_back(engine->Logits().begin(), engine->Logits().end());
  }
  return logits;
}

LogitDrift DriftOf(const std::vector<std::vector<float>>& expected,
                   const std::vector<std::vector<float>>& seen) {
  LogitDrift drift;
  for (size_t i = 0; i < expected.size(); ++i) AddDrift(expected[i], seen[i], &drift);
  drift.kl_mean /= static_cast<double>(drift.tokens);
  return drift;
}

// What was kept with `codec`, read back by an engine that knows nothing of it.
void ExpectNear(Codec codec, const Kept& kept, const Kept& back, const Made& made,
                const std::vector<std::vector<float>>& expected) {
  const auto logits = [](const Kept& of) {
    return Bytes(of.snapshot.end() - static_cast<ptrdiff_t>(of.logits_bytes), of.snapshot.end());
  };
  EXPECT_EQ(logits(back), logits(kept)) << "logits are no state";
  const auto restarted = LoadedPrecise(made);
  ASSERT_NE(restarted, nullptr);
  ASSERT_NO_FATAL_FAILURE(SetBack(restarted.get(), back));
  const LogitDrift drift = DriftOf(expected, GoOn(restarted.get()));
  EXPECT_EQ(drift.tokens, kNextTokens);
  if (!IsLossy(codec)) {
    EXPECT_EQ(drift.delta_max, 0);
    return;
  }
  EXPECT_LT(drift.kl_mean, DivergenceMax(codec));
}

TEST_F(CodecsLlama, AConversationGoesOnAfterARestartWithLogitsAsCloseAsTheCodecPromises) {
  for (const Made& made : kModels) {
    SCOPED_TRACE(test::Trace(made));
    const auto engine = LoadedPrecise(made);
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(ProveFloatRows(engine.get()).has_value());
    const Kept kept = TakeKept(engine.get());
    const auto expected = GoOn(engine.get());
    for (const Codec codec :
         {Codec::kRaw, Codec::kLossless, Codec::kFp16, Codec::kInt8, Codec::kRint16}) {
      SCOPED_TRACE(std::string(CodecName(codec)));
      std::filesystem::remove_all(folder_);
      ASSERT_NO_FATAL_FAILURE(Write(codec, kept));
      // Recurrent states are f32, attention KV f16, which only int8 makes smaller.
      if (IsLossy(codec) && !kept.segment.empty()) {
        const Codec used = codec == Codec::kInt8 ? codec : Codec::kLossless;
        EXPECT_EQ(CodecInFile(kept, ObjectKind::kSegment), used);
      }
      const bool recurrent =
          made.memory_class == MemoryClass::kRecurrent || made.memory_class == MemoryClass::kHybrid;
      if (IsLossy(codec) && recurrent) {
        EXPECT_EQ(CodecInFile(kept, ObjectKind::kSnapshot), codec);
      }
      const Kept back = ReadBack(kept);
      ASSERT_NO_FATAL_FAILURE(ExpectNear(codec, kept, back, made, expected));
    }
  }
}

// A slot that came back through a file, and is saved where it stands, is written as it came back.
TEST_F(CodecsLlama, AStateThatCameBackAndIsKeptAgainLosesNothingMore) {
  for (const Made& made : kModels) {
    SCOPED_TRACE(test::Trace(made));
    const auto engine = LoadedPrecise(made);
    ASSERT_NE(engine, nullptr);
    const Kept kept = TakeKept(engine.get());
    for (const Codec codec : {Codec::kFp16, Codec::kInt8, Codec::kRint16}) {
      SCOPED_TRACE(std::string(CodecName(codec)));
      std::filesystem::remove_all(folder_);
      ASSERT_NO_FATAL_FAILURE(Write(codec, kept));
      const Kept once = ReadBack(kept);
      // As if the first file had been given up meanwhile.
      std::filesystem::remove_all(folder_);
      ASSERT_NO_FATAL_FAILURE(Write(codec, once));
      const Kept twice = ReadBack(once);
      engine->Clear(kSeq);
      ASSERT_NO_FATAL_FAILURE(SetBack(engine.get(), once));
      const auto expected = GoOn(engine.get());
      engine->Clear(kSeq);
      ASSERT_NO_FATAL_FAILURE(SetBack(engine.get(), twice));
      const LogitDrift drift = DriftOf(expected, GoOn(engine.get()));
      // The last bits of scales, and nothing of what a codec loses.
      EXPECT_LT(drift.kl_mean, 1e-6);
      if (codec == Codec::kFp16) {
        EXPECT_EQ(twice.snapshot, once.snapshot);
      }
      EXPECT_EQ(twice.segment, once.segment);
    }
  }
}

}  // namespace
}  // namespace cairn
