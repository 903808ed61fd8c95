#include "lab/bench/bench_json.h"

#include <gtest/gtest.h>

#include <string>

#include "lab/bench/bench_sample.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

using test::SampleBench;

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Complaint(const std::string& text) {
  const Result<BenchResult> result = ReadBenchJson(text);
  EXPECT_FALSE(result.has_value());
  return result ? "" : result.error().message;
}

TEST(BenchJson, WritesWhatWasSeenAndWhatItComesTo) {
  ExpectGolden("bench.json", BenchJson(SampleBench()));
}

TEST(BenchJson, ReadsBackWhatItWrote) {
  BenchResult seen = SampleBench();
  seen.seed = UINT64_MAX;
  seen.servers[0].runs[0].requests[0].first_token_ms = 1.0 / 3;
  const std::string text = BenchJson(seen);
  const Result<BenchResult> result = ReadBenchJson(text);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(BenchJson(*result), text);
  EXPECT_EQ(result->seed, UINT64_MAX);
  EXPECT_EQ(result->servers[0].runs[0].requests[0].first_token_ms, 1.0 / 3);
  EXPECT_EQ(result->servers[1].runs[3].error, seen.servers[1].runs[3].error);
  EXPECT_TRUE(result->servers[0].runs[1].requests[3].cancelled);
}

TEST(BenchJson, ReadsBackAResultWithoutServers) {
  const Result<BenchResult> result = ReadBenchJson(BenchJson({}));
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->servers.empty());
}

TEST(BenchJson, WritesTextThatIsNotUtf8) {
  BenchResult seen = SampleBench();
  seen.servers[0].runs[0].error = "\xff";
  EXPECT_TRUE(ReadBenchJson(BenchJson(seen)).has_value());
}

TEST(BenchJson, RefusesWhatIsNoResult) {
  EXPECT_EQ(Complaint(""), "it is no result of cairn-lab bench");
  EXPECT_EQ(Complaint("[1]"), "it is no result of cairn-lab bench");
  EXPECT_EQ(Complaint("{\"format\": 3}"), "it is no result of cairn-lab bench");
  const std::string text = BenchJson(SampleBench());
  EXPECT_EQ(Complaint(text.substr(0, text.size() / 2)), "it is no result of cairn-lab bench");
}

TEST(BenchJson, RefusesAnotherVersion) {
  EXPECT_NE(Complaint(Replaced(BenchJson({}), "\"version\": 1", "\"version\": 2"))
                .find("another version"),
            std::string::npos);
}

TEST(BenchJson, NamesTheFieldThatIsWrong) {
  const std::string text = BenchJson(SampleBench());
  EXPECT_EQ(Complaint(Replaced(text, "\"prompt_tokens\": 5000", "\"prompt_tokens\": -5000")),
            "prompt_tokens must be a number of things");
  EXPECT_EQ(Complaint(Replaced(text, "\"cancelled\": false", "\"cancelled\": 0")),
            "cancelled must be true or false");
  EXPECT_EQ(Complaint(Replaced(text, "\"runs\": [", "\"ran\": [")), "runs must be a list");
}

}  // namespace
}  // namespace cairn
