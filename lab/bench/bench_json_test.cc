// The JSON that lab/report/ reads: its tests read the same golden file.

#include "lab/bench/bench_json.h"

#include <gtest/gtest.h>

#include <string>

#include "lab/bench/bench_sample.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

using test::SampleBench;

TEST(BenchJson, HoldsAllMeasurementsOfScenariosAndWorkloads) {
  ExpectGolden("bench.json", BenchJson(SampleBench()));
}

TEST(BenchJson, HoldsNumbersToTheLastDigit) {
  BenchResult result = SampleBench();
  result.seed = UINT64_MAX;
  result.servers[0].runs[0].requests[0].first_token_ms = 1.0 / 3;
  const std::string text = BenchJson(result);
  EXPECT_NE(text.find("\"seed\": 18446744073709551615"), std::string::npos);
  EXPECT_NE(text.find("\"first_token_ms\": 0.3333333333333333"), std::string::npos);
}

TEST(BenchJson, ReplacesBytesThatAreNotUtf8) {
  BenchResult result = SampleBench();
  result.servers[0].runs[0].error = "a\xff";
  EXPECT_NE(BenchJson(result).find("\"error\": \"a\xef\xbf\xbd\""), std::string::npos);
}

}  // namespace
}  // namespace cairn
