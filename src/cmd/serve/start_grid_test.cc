#include "cmd/serve/start_grid.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/base/memory_fs.h"
#include "testing/engine/fake_engine.h"

namespace cairn {
namespace {

// As libllama's engine before its grid is measured.
class UnmeasuredEngine final : public FakeEngine {
 public:
  explicit UnmeasuredEngine(const FakeEngineOptions& options) : FakeEngine(options) {
    traits_ = FakeEngine::traits();
    traits_.grid_tokens = kUsualGridTokens;
    traits_.grid_measured = false;
  }
  const MemoryTraits& traits() const override { return traits_; }

 private:
  MemoryTraits traits_;
};

Result<std::string> Facts() {
  return std::string("facts\n");
}

class StartGridTest : public testing::Test {
 protected:
  static FakeEngineOptions WithGrid(size_t grid_tokens) {
    FakeEngineOptions options;
    options.grid_tokens = grid_tokens;
    return options;
  }

  StartGrid Make(bool exact = false, const std::string& folder = "cache") {
    return {&fs_, folder, exact, &clock_,
            [this](LogLevel level, std::string_view) { levels_.push_back(level); }};
  }

  // The whole measurement of a server that nobody asks anything.
  void MeasureWhileIdle(size_t grid_tokens) {
    UnmeasuredEngine engine(WithGrid(grid_tokens));
    StartGrid grid = Make();
    IdleWork* const work = grid.AfterLoad(&engine, Facts);
    ASSERT_NE(work, nullptr);
    while (work->Step()) {
    }
    work->End();
  }

  MemoryFs fs_;
  const MeasuredGrids grids_{&fs_, "cache"};
  const SteadyClock clock_;
  std::vector<LogLevel> levels_;
};

TEST_F(StartGridTest, KeepsWhatIsMeasuredWhileIdleForTheNextStart) {
  MeasureWhileIdle(1);  // every cut is exact
  EXPECT_EQ(levels_, std::vector<LogLevel>{LogLevel::kInfo});
  LlamaOptions llama;
  StartGrid next = Make();
  next.Fill(&llama);
  EXPECT_FALSE(llama.measure_grid);
  EXPECT_EQ(llama.find_grid("facts\n").grid_tokens, 64u);
  EXPECT_TRUE(llama.find_grid("facts\n").at_messages);
  EXPECT_EQ(llama.find_grid("other facts\n").grid_tokens, 0u);
}

TEST_F(StartGridTest, WarnsWhereTheAssumedGridIsDisproved) {
  MeasureWhileIdle(128);
  EXPECT_EQ(levels_, std::vector<LogLevel>{LogLevel::kWarning});
  EXPECT_EQ(grids_.Find("facts\n").tokens, 128u);
}

TEST_F(StartGridTest, WarnsWhereTheGridDoesNotHoldFromMessageBoundariesOn) {
  MeasureWhileIdle(64);
  EXPECT_EQ(levels_, std::vector<LogLevel>{LogLevel::kWarning});
  EXPECT_EQ(grids_.Find("facts\n"), (MeasuredGrid{64, false}));
}

TEST_F(StartGridTest, ARequestCutsItShortAndFindsTheSequenceEmpty) {
  UnmeasuredEngine engine(WithGrid(64));
  StartGrid grid = Make();
  IdleWork* const work = grid.AfterLoad(&engine, Facts);
  ASSERT_NE(work, nullptr);
  ASSERT_TRUE(work->Step());
  work->End();
  EXPECT_EQ(grids_.Find("facts\n").tokens, 0u);
  EXPECT_TRUE(levels_.empty());
  EXPECT_TRUE(engine.Decode(0, 0, Tokens{1, 2, 3}));
}

TEST_F(StartGridTest, ARequestEndsAChunkThatIsBeingDecoded) {
  UnmeasuredEngine engine(WithGrid(64));
  StartGrid grid = Make();
  IdleWork* const work = grid.AfterLoad(&engine, Facts);
  ASSERT_TRUE(work->Step());
  const uint64_t before = engine.decoded_tokens();
  work->Interrupt();
  work->Step();
  EXPECT_FALSE(work->Step()) << "there is nothing left to measure";
  EXPECT_EQ(engine.decoded_tokens(), before);
  work->End();
  EXPECT_EQ(grids_.Find("facts\n").tokens, 0u);
  EXPECT_TRUE(levels_.empty());
  EXPECT_TRUE(engine.Decode(0, 0, Tokens{1, 2, 3})) << "later decodes are not stopped";
  work->Interrupt();
  EXPECT_TRUE(engine.Decode(0, 3, Tokens{4}));
}

TEST_F(StartGridTest, ExactMeasuresWhileItLoadsAndKeepsThat) {
  FakeEngine engine(WithGrid(64));  // measured
  StartGrid grid = Make(/*exact=*/true);
  LlamaOptions llama;
  grid.Fill(&llama);
  EXPECT_TRUE(llama.measure_grid);
  EXPECT_EQ(grid.AfterLoad(&engine, Facts), nullptr);
  EXPECT_EQ(grids_.Find("facts\n").tokens, 64u);
}

TEST_F(StartGridTest, AGivenGridIsNeitherMeasuredNorKept) {
  UnmeasuredEngine engine(WithGrid(64));
  StartGrid grid = Make();
  LlamaOptions llama;
  llama.grid_tokens = 64;
  grid.Fill(&llama);
  EXPECT_EQ(grid.AfterLoad(&engine, Facts), nullptr);
  EXPECT_EQ(grids_.Find("facts\n").tokens, 0u);
}

TEST_F(StartGridTest, WithoutACacheFolderNothingIsMeasuredOrKept) {
  UnmeasuredEngine engine(WithGrid(64));
  StartGrid grid = Make(false, "");
  LlamaOptions llama;
  grid.Fill(&llama);
  EXPECT_FALSE(llama.find_grid);
  EXPECT_EQ(grid.AfterLoad(&engine, Facts), nullptr);
}

}  // namespace
}  // namespace cairn
