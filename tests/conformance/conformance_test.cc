// A few rows of the table of architectures, computed anew: at least one of each memory class. The
// whole table takes minutes: `make conformance`.

#include "conformance/conformance_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "engine/verified_architectures.h"

namespace cairn::conformance {
namespace {

constexpr const char* kShortSet =
    "deepseek2|falcon-h1|gemma3|gpt-oss|kimi-linear|lfm2|llama|mamba2|qwen35";

// The models of one test, removed after it.
class Conformance : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeModels()) {
      GTEST_SKIP() << "test-llama-archs is not installed; Debian has it in llama.cpp-tests";
    }
    folder_ = testing::TempDir() + "cairn_conformance_" + std::to_string(getpid());
    options_.program = CAIRN_CONFORMANCE;
    options_.find_grid = false;  // depends on the machine, so the tests do not compare it
  }
  void TearDown() override {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }

  std::vector<std::string> Models(const std::string& architectures) {
    const auto models = MakeModels(architectures, folder_);
    EXPECT_TRUE(models.has_value()) << models.error().message;
    return models.value_or(std::vector<std::string>());
  }

  std::string folder_;
  RunOptions options_;
};

TEST_F(Conformance, OfAFewArchitecturesIsWhatTheTableSays) {
  const std::vector<std::string> models = Models(kShortSet);
  EXPECT_GE(models.size(), 9u);
  for (const std::string& model : models) {
    SCOPED_TRACE(model);
    const ArchitectureRow found = CheckModel(model, options_);
    const auto& rows = VerifiedArchitectures().rows;
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const ArchitectureRow& row) {
      return row.architecture == found.architecture && row.variant == found.variant;
    });
    ASSERT_NE(known, rows.end());
    EXPECT_EQ(found.memory, known->memory);
    EXPECT_EQ(found.snapshot, known->snapshot);
    EXPECT_EQ(found.exactness, known->exactness);
    EXPECT_EQ(found.segments, known->segments);
    EXPECT_EQ(found.whole, known->whole);
  }
}

TEST_F(Conformance, OfAnArchitectureThatAbortsIsARowLikeAnyOther) {
  const std::vector<std::string> models = Models("qwen4exp");
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(RunCheck("segments", models[0], 0, options_), "aborts");
  EXPECT_EQ(RunCheck("snapshot", models[0], 0, options_), "exact");
  EXPECT_EQ(RunCheck("whole", models[0], 0, options_), "exact");
}

}  // namespace
}  // namespace cairn::conformance
