#include "soak/process_sample.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lab/client/seeded_text.h"

namespace cairn::soak {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

bool Grows(const std::vector<uint64_t>& series) {
  return GrowthBytes(series) > GrowthAllowed(series);
}

// Memory that reaches a level in the first quarter, swings about it, and leaks.
std::vector<uint64_t> Series(size_t samples, uint64_t swing_bytes, uint64_t leak_bytes) {
  SeededText dice(20261122, "series");
  std::vector<uint64_t> series;
  for (size_t i = 0; i < samples; ++i) {
    const uint64_t level = 60 * kMib * std::min<uint64_t>(i * 4, samples) / samples;
    const uint64_t swing = swing_bytes == 0 ? 0 : dice.Number(swing_bytes);
    series.push_back(level + swing + leak_bytes * i / samples);
  }
  return series;
}

TEST(Growth, OfAFlatSeriesIsNone) {
  EXPECT_EQ(GrowthBytes(Series(200, 0, 0)), 0u);
  EXPECT_FALSE(Grows(Series(200, 0, 0)));
}

TEST(Growth, OfASwingingSeriesIsNone) {
  EXPECT_FALSE(Grows(Series(200, 8 * kMib, 0)));
  std::vector<uint64_t> sawtooth;
  for (uint64_t i = 0; i < 400; ++i) sawtooth.push_back((50 + i % 20) * kMib);
  EXPECT_FALSE(Grows(sawtooth));
}

TEST(Growth, OfALeakIsSeenAlsoWhereItSwings) {
  EXPECT_TRUE(Grows(Series(200, 0, 20 * kMib)));
  EXPECT_TRUE(Grows(Series(200, 8 * kMib, 30 * kMib)));
  const uint64_t growth = GrowthBytes(Series(400, 0, 20 * kMib));
  EXPECT_NEAR(static_cast<double>(growth), 10.0 * kMib, 1.0 * kMib) << "half of what leaked";
}

TEST(Growth, OfASmallLeakIsSeenInALargerSeriesOnly) {
  EXPECT_FALSE(Grows(Series(200, 0, 4 * kMib)));
  EXPECT_TRUE(Grows(Series(2000, 0, 40 * kMib)));
}

TEST(Growth, OfTooFewSamplesSaysNothing) {
  EXPECT_EQ(GrowthBytes({1, 2, 3}), 0u);
  EXPECT_EQ(GrowthAllowed({}), kGrowthBytes);
}

TEST(ProcessSample, SeesADescriptorThatIsLeft) {
  const auto before = SampleProcess(getpid());
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(before->rss_bytes, before->own_bytes);
  EXPECT_GT(before->own_bytes, 0u);
  EXPECT_EQ(CompareHeld(*before, *SampleProcess(getpid())), "");
  const int left = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto after = SampleProcess(getpid());
  close(left);
  EXPECT_NE(CompareHeld(*before, *after).find("descriptors at the end"), std::string::npos);
}

TEST(ProcessSample, SeesAThreadThatIsLeft) {
  ProcessSample before;
  before.threads = 8;
  ProcessSample after = before;
  after.threads = 9;
  EXPECT_EQ(CompareHeld(before, after), "9 threads at the end, 8 at the beginning");
  EXPECT_EQ(CompareHeld(before, before), "");
}

TEST(ProcessSample, IsNoneOfAProcessThatIsNotThere) {
  EXPECT_FALSE(SampleProcess(0).has_value());
}

}  // namespace
}  // namespace cairn::soak
