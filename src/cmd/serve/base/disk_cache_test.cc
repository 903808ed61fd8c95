#include "cmd/serve/base/disk_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/llama/llama_engine.h"
#include "store/codec/codec.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

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
    auto opened = OpenDiskCache(options, ApiKeys(), engine, ReuseMode::kLive, {}, {{}, Log()});
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

std::unique_ptr<LlamaEngine> LoadedEngine() {
  auto engine = LlamaEngine::Load(test::SmallOptions(test::MadeModel("qwen35")));
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? *std::move(engine) : nullptr;
}

TEST_F(DiskCacheTest, NamesTheCodecsThereAre) {
  for (const char* codec : {"raw", "lossless"}) EXPECT_TRUE(CodecOf(Options(codec)).has_value());
  EXPECT_EQ(CodecOf(Options("zip")).error().message,
            "--codec: there is no codec \"zip\"; there are raw, lossless");
}

TEST_F(DiskCacheTest, ReadsTheFilesOfTheOtherCodec) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  const auto fingerprint = [&](const char* codec) {
    return Open(Options(codec), engine.get()).saved_as.fingerprint;
  };
  EXPECT_EQ(fingerprint("raw"), fingerprint("lossless"));
}

// The folder's parent is a file, which stops root too.
TEST_F(DiskCacheTest, SaysAtTheStartThatAFolderTakesNoFiles) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  std::ofstream(folder_) << "no folder";
  ServeOptions options = Options("raw");
  options.cache_folder = folder_ + "/cache";
  options.slot_save_path = folder_ + "/slots";
  DiskCallbacks callbacks{{}, Log()};
  callbacks.tries_folders = true;
  const auto opened =
      OpenDiskCache(options, ApiKeys(), engine.get(), ReuseMode::kLive, {}, std::move(callbacks));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_TRUE(log_[0].starts_with("--slot-save-path \"" + folder_ + "/slots")) << log_[0];
  EXPECT_TRUE(log_[1].starts_with("disk cache: \"" + folder_ + "/cache")) << log_[1];
  EXPECT_NE(log_[1].find("Until then nothing is saved"), std::string::npos) << log_[1];
  EXPECT_NE(opened->store, nullptr) << "it may take files later";
}

TEST_F(DiskCacheTest, LeavesNothingOfTheTrialInAFolderThatTakesFiles) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  DiskCallbacks callbacks{{}, Log()};
  callbacks.tries_folders = true;
  const auto opened = OpenDiskCache(Options("raw"), ApiKeys(), engine.get(), ReuseMode::kLive, {},
                                    std::move(callbacks));
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(log_.empty());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename().string().find("trial"), std::string::npos) << entry.path();
  }
}

TEST_F(DiskCacheTest, WithAKeyFileEveryObjectOnDiskIsSealed) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  std::filesystem::create_directories(folder_);
  ServeOptions options = Options("raw");
  options.cache_key_file = folder_ + "/key";
  std::ofstream(options.cache_key_file) << "a key, which has 32 characters or more\n";
  ObjectHeader header;
  header.tokens = Tokens(100, 7);
  {
    const DiskCache cache = Open(options, engine.get());
    header.fingerprint = cache.saved_as.fingerprint;
    ASSERT_TRUE(cache.store->Write(header, std::make_shared<Bytes>(1000)));
    ASSERT_TRUE(cache.store->Drain(10'000));
    const std::string path = folder_ + "/" + ToText(header.fingerprint) + "/" +
                             ToText(NameOf(header)) + std::string(kObjectSuffix);
    const auto begin = MakeRealFs()->Read(path, 0, kSealedFileMagic.size());
    ASSERT_TRUE(begin.has_value()) << begin.error().message;
    EXPECT_EQ(TextView(*begin), TextView(kSealedFileMagic));
  }
  EXPECT_EQ(Open(options, engine.get()).store->Read(NameOf(header))->size(), 1000u);
  options.cache_key_file.clear();
  const DiskCache without = Open(options, engine.get());
  EXPECT_EQ(without.saved_as.fingerprint, header.fingerprint) << "the states are the same";
  EXPECT_EQ(without.store->Read(NameOf(header)).error().code, ErrorCode::kUnsupported);
}

TEST_F(DiskCacheTest, AKeyFileThatHasNoKeyEndsTheStart) {
  const auto engine = LoadedEngine();
  ASSERT_NE(engine, nullptr);
  std::filesystem::create_directories(folder_);
  ServeOptions options = Options("raw");
  options.cache_key_file = folder_ + "/key";
  const auto refusal = [&] {
    return OpenDiskCache(options, ApiKeys(), engine.get(), ReuseMode::kLive, {}, {{}, Log()})
        .error()
        .message;
  };
  EXPECT_TRUE(refusal().starts_with("--cache-key-file ")) << refusal();
  std::ofstream(options.cache_key_file) << "short\n";
  EXPECT_NE(refusal().find("line 1 has 5 characters"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace cairn
