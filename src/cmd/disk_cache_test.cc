#include "cmd/disk_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fake_engine.h"
#include "engine/llama_engine.h"
#include "engine/test_models.h"
#include "store/codec.h"

namespace cairn {
namespace {

constexpr std::array<const char*, 3> kLossy = {"fp16", "int8", "rint16"};

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() { std::filesystem::remove_all(folder_); }
  ~DiskCacheTest() override { std::filesystem::remove_all(folder_); }

  ServeOptions Options(const std::string& codec) const {
    ServeOptions options;
    options.cache_folder = folder_;
    options.cache_ram_mib = 64;
    options.codec = codec;
    return options;
  }
  DiskCache Open(const ServeOptions& options, Engine* engine) {
    auto opened = OpenDiskCache(options, ApiKeys(), engine, ReuseMode::kLive, {{}, Log()});
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? *std::move(opened) : DiskCache();
  }
  LogSink Log() {
    return [this](LogLevel level, std::string_view line) {
      EXPECT_EQ(level, LogLevel::kWarning);
      log_.emplace_back(line);
    };
  }

  const std::string folder_ =
      testing::TempDir() + "cairn_disk_cache_test_" + std::to_string(getpid());
  std::vector<std::string> log_;
};

// Its states are laid out as no libllama's.
std::unique_ptr<FakeEngine> UnknownEngine() {
  FakeEngineOptions options;
  options.memory_class = MemoryClass::kHybrid;
  return std::make_unique<FakeEngine>(options);
}

std::unique_ptr<LlamaEngine> LoadedEngine() {
  auto engine = LlamaEngine::Load(test::SmallOptions(test::MadeModel("qwen35")));
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? *std::move(engine) : nullptr;
}

TEST_F(DiskCacheTest, RefusesALossyCodecWhereEveryBitIsPromised) {
  for (const char* codec : kLossy) {
    ServeOptions options = Options(codec);
    EXPECT_EQ(CodecOf(options).value(), ParseCodec(codec).value());
    options.reuse = "exact";
    const auto refused = CodecOf(options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message,
              "--codec " + std::string(codec) +
                  " changes bits, and --reuse exact promises that none changes; take --codec "
                  "lossless, or --reuse live");
  }
  for (const char* codec : {"raw", "lossless"}) {
    ServeOptions options = Options(codec);
    options.reuse = "exact";
    EXPECT_TRUE(CodecOf(options).has_value());
  }
  EXPECT_EQ(CodecOf(Options("zip")).error().message.find("--codec: there is no codec \"zip\""), 0u);
}

TEST_F(DiskCacheTest, WritesLosslessAndSaysSoWhereNobodyKnowsWhereTheFloatsStand) {
  const auto engine = UnknownEngine();
  for (const char* codec : kLossy) {
    log_.clear();
    EXPECT_EQ(Open(Options(codec), engine.get()).codec, Codec::kLossless);
    ASSERT_EQ(log_.size(), 1u);
    EXPECT_EQ(log_[0].find("--codec " + std::string(codec) + " falls back to lossless: "), 0u)
        << log_[0];
  }
  // Nothing is lost, so its files are those of any server.
  const Fingerprint any = Open(Options("raw"), engine.get()).saved_as.fingerprint;
  EXPECT_EQ(Open(Options("int8"), engine.get()).saved_as.fingerprint, any);
  EXPECT_EQ(log_.size(), 2u);
}

TEST_F(DiskCacheTest, AsksForNoProofWhereNothingIsWritten) {
  const auto engine = UnknownEngine();
  ServeOptions options = Options("int8");
  options.cache_disk_gib = 0;
  EXPECT_EQ(Open(options, engine.get()).store, nullptr);
  EXPECT_TRUE(log_.empty());
}

TEST_F(DiskCacheTest, UsesALossyCodecWhereTheFloatsWereFoundAndLeavesTheEngineEmpty) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  for (const char* codec : kLossy) {
    EXPECT_EQ(Open(Options(codec), engine.get()).codec, ParseCodec(codec).value());
  }
  EXPECT_TRUE(log_.empty());
  EXPECT_TRUE(engine->Decode(0, 0, Tokens{1, 2, 3}).has_value());
}

// What lost something must not be met by a server that promises bits, and the other way round
// nothing is gained: the lossy codecs share theirs, and so do the others.
TEST_F(DiskCacheTest, KeepsWhatLostSomethingApartFromWhatDidNot) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  const auto fingerprint = [&](const char* codec) {
    return Open(Options(codec), engine.get()).saved_as.fingerprint;
  };
  EXPECT_EQ(fingerprint("raw"), fingerprint("lossless"));
  EXPECT_NE(fingerprint("raw"), fingerprint("fp16"));
  EXPECT_EQ(fingerprint("fp16"), fingerprint("int8"));
  EXPECT_EQ(fingerprint("fp16"), fingerprint("rint16"));
}

}  // namespace
}  // namespace cairn
