#include "engine/llama/fit/model_layout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

constexpr size_t kF16Bytes = 2;

uint64_t KvBytesPerToken(const ModelLayout& layout) {
  uint64_t bytes = 0;
  for (const LayerLayout& layer : layout.layers) {
    if (!layer.windowed) bytes += kF16Bytes * (layer.k_elements + layer.v_elements);
  }
  return bytes;
}

uint64_t StateBytes(const ModelLayout& layout) {
  uint64_t bytes = 0;
  for (const LayerLayout& layer : layout.layers) bytes += layer.state_bytes;
  return bytes;
}

TEST(ModelLayout, HasTheKvOfATokenThatLibllamaStores) {
  for (const char* architecture : {"llama", "qwen3", "qwen35", "lfm2", "jamba", "falcon-h1",
                                   "granitehybrid", "nemotron_h", "mamba2"}) {
    SCOPED_TRACE(architecture);
    const auto layout = ReadModelLayout(test::MadeModel(architecture, 0));
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    const auto engine = test::Loaded({architecture, MemoryClass::kHybrid});
    ASSERT_NE(engine, nullptr);
    // Positions of cells are stored beside the elements.
    const size_t stored = engine->traits().kv_bytes_per_token;
    const uint64_t counted = KvBytesPerToken(*layout);
    EXPECT_LE(counted, stored);
    EXPECT_GE(counted + 64, stored);
    if (!engine->traits().NeedsSnapshots()) continue;
    EXPECT_NEAR(static_cast<double>(StateBytes(*layout)),
                static_cast<double>(engine->traits().snapshot_bytes),
                0.2 * static_cast<double>(engine->traits().snapshot_bytes));
  }
}

TEST(ModelLayout, KnowsTheLayersThatAttendToAWindow) {
  for (const char* architecture : {"gemma3", "gpt-oss"}) {
    SCOPED_TRACE(architecture);
    const auto layout = ReadModelLayout(test::MadeModel(architecture, 96));
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    EXPECT_GT(layout->window_tokens, 0u);
    EXPECT_TRUE(layout->layers.front().windowed);
  }
}

TEST(ModelLayout, CountsAllTensorsOnce) {
  const std::string path = test::MadeModel("gpt-oss", 96);
  const auto layout = ReadModelLayout(path);
  ASSERT_TRUE(layout.has_value()) << layout.error().message;
  EXPECT_TRUE(layout->has_experts());
  uint64_t bytes = layout->output_bytes;
  for (const LayerLayout& layer : layout->layers) {
    bytes += layer.weight_bytes;
    EXPECT_LT(layer.expert_bytes, layer.weight_bytes);
  }
  EXPECT_LT(bytes, std::filesystem::file_size(path));
  EXPECT_GT(bytes, std::filesystem::file_size(path) / 2);
  EXPECT_GT(layout->vocabulary_tokens, 0u);
}

TEST(ModelLayout, OfAFileThatIsNoModelIsAnError) {
  const std::string path = testing::TempDir() + "cairn_no_model.gguf";
  std::ofstream(path) << "GGUF and nothing more";
  EXPECT_FALSE(ReadModelLayout(path).has_value());
  std::filesystem::remove(path);
  const auto missing = ReadModelLayout(path);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace cairn
