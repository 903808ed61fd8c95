// An unloaded LlamaEngine holds no weights, and is the same engine after Wake.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "testing/engine/llama_fixture.h"

namespace cairn::llama_sleep_test {
namespace {

using test::kGrid;
using test::kMade;
using test::Made;
using test::PrefillCold;
using test::RandomPrompt;
using test::Read;
using test::Trace;

std::unique_ptr<LlamaEngine> Sleeper(const LlamaOptions& options) {
  LlamaOptions sleeping = options;
  sleeping.may_sleep = true;
  auto engine = LlamaEngine::Load(sleeping);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

LlamaOptions OptionsOf(const Made& made) {
  return test::SmallOptions(test::MadeModel(made.architecture, made.window_tokens));
}

// Whether the process maps the file.
bool IsMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

TEST(LlamaSleep, ReturnsWithTheSameBitsAndTakesItsStatesBack) {
  for (const Made& made : kMade) {
    SCOPED_TRACE(Trace(made));
    const auto engine = Sleeper(OptionsOf(made));
    ASSERT_NE(engine, nullptr);
    const Tokens prompt = RandomPrompt(4 * kGrid + 20, 1);
    const auto cold = PrefillCold(engine.get(), prompt);
    engine->Clear(0);
    Read(engine.get(), prompt, 0, 3 * kGrid);
    const bool snapshots = engine->traits().NeedsSnapshots();
    const Bytes snapshot = snapshots ? *engine->TakeSnapshot(0) : Bytes();
    std::vector<SegmentPart> parts;
    Bytes segment;
    if (engine->traits().segments) {
      segment = *engine->TakeSegment(0, 0, 3 * kGrid);
      parts.push_back({0, 3 * kGrid, segment});
    }
    ASSERT_TRUE(engine->Sleep().has_value());
    const Status woken = engine->Wake();
    ASSERT_TRUE(woken.has_value()) << woken.error().message;
    EXPECT_EQ(PrefillCold(engine.get(), prompt), cold);
    engine->Clear(0);
    const Status back = parts.empty() ? engine->Restore(0, 3 * kGrid, snapshot)
                                      : engine->Assemble(0, 0, parts, 3 * kGrid, snapshot);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    Read(engine.get(), prompt, 3 * kGrid, 4 * kGrid);
    EXPECT_EQ(Read(engine.get(), prompt, 4 * kGrid, prompt.size()), cold);
  }
}

TEST(LlamaSleep, LetsGoOfTheWeights) {
  LlamaOptions options = OptionsOf(kMade[0]);
  options.repack = false;  // repacked tensors are a copy besides the file
  const auto engine = Sleeper(options);
  ASSERT_NE(engine, nullptr);
  EXPECT_TRUE(IsMapped(options.model_path));
  ASSERT_TRUE(engine->Sleep().has_value());
  EXPECT_FALSE(IsMapped(options.model_path));
  EXPECT_EQ(engine->model(), nullptr);
  ASSERT_TRUE(engine->Wake().has_value());
  EXPECT_TRUE(IsMapped(options.model_path));
}

TEST(LlamaSleep, KeepsTheVocabularyForOtherThreads) {
  const auto engine = Sleeper(OptionsOf(kMade[0]));
  ASSERT_NE(engine, nullptr);
  const std::string text = "some text <|im_start|>user";
  const Tokens expected = *engine->Tokenize(text, true, true);
  std::atomic<bool> done = false;
  std::atomic<size_t> rounds = 0;
  std::thread other([&] {
    while (!done) {
      EXPECT_EQ(*engine->Tokenize(text, true, true), expected);
      EXPECT_FALSE(engine->Piece(expected.back(), true).empty());
      EXPECT_FALSE(engine->IsEndOfGeneration(expected.back()));
      ++rounds;
    }
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(engine->Sleep().has_value());
    const size_t before = rounds;
    while (rounds < before + 10) std::this_thread::yield();
    EXPECT_TRUE(engine->Wake().has_value());
  }
  done = true;
  other.join();
  EXPECT_EQ(engine->cells(), 4096u);
}

TEST(LlamaSleep, IsRefusedToAModelThatWasLoadedToStay) {
  const auto engine = test::Loaded(kMade[0]);
  const Status slept = engine->Sleep();
  ASSERT_FALSE(slept.has_value());
  EXPECT_EQ(slept.error().code, ErrorCode::kUnsupported);
  const Tokens prompt = RandomPrompt(kGrid, 1);
  EXPECT_FALSE(PrefillCold(engine.get(), prompt).empty());
}

TEST(LlamaSleep, DoesNotWakeAsAnotherModelAndDoesWhenTheFileIsBack) {
  LlamaOptions options = OptionsOf(kMade[0]);
  const std::string path = testing::TempDir() + "cairn_sleep_" + std::to_string(getpid()) + ".gguf";
  const auto put = [&](const std::string& from) {
    std::filesystem::copy_file(from, path, std::filesystem::copy_options::overwrite_existing);
  };
  const std::string original = options.model_path;
  put(original);
  options.model_path = path;
  const auto engine = Sleeper(options);
  ASSERT_NE(engine, nullptr);
  ASSERT_TRUE(engine->Sleep().has_value());
  std::filesystem::remove(path);
  const Status missing = engine->Wake();
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  put(test::MadeModel(kMade[0].architecture, 0, "f32"));
  const Status other = engine->Wake();
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, ErrorCode::kUnavailable) << other.error().message;
  put(original);
  const Status same = engine->Wake();
  EXPECT_TRUE(same.has_value()) << same.error().message;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cairn::llama_sleep_test
