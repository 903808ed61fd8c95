// What the requests of a benchmark come to: sums, ratios, percentiles, and servers compared request
// by request. Pure functions. Runs that ended early count for nothing but their error.

#ifndef CAIRN_LAB_BENCH_BENCH_SUMMARY_H_
#define CAIRN_LAB_BENCH_BENCH_SUMMARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lab/bench/bench_result.h"

namespace cairn {

// The value below which `share` (0 to 1) of the values lie, on a straight line between the two
// nearest of them; 0 when there are none.
double Percentile(std::vector<double> values, double share);
// 0 when there are none. All must be positive.
double GeometricMean(const std::vector<double>& values);

// What may be read on the requests' own time: 1.02 times the lower bound and a grid step a request.
double AllowedTokens(size_t lower_bound_tokens, size_t requests, size_t grid_tokens);

// The tokens of one run, all requests together.
struct RunTokens {
  size_t requests = 0;
  size_t sent = 0;
  size_t read = 0;
  size_t lower_bound = 0;  // 0: not known
  size_t read_in_all = 0;
  // Read over lower bound; 0 when that is not known.
  double ReadRatio() const;
  double ReadInAllRatio() const;
};
RunTokens CountTokens(const ScenarioRun& run);

// A scenario on one server.
struct ScenarioSummary {
  std::string scenario;
  size_t runs = 0;                  // that went well; everything below is over all of them
  std::vector<std::string> errors;  // one for each that did not
  RunTokens tokens;
  double allowed_tokens = 0;  // 0: the lower bound is not known
  double first_token_median_ms = 0;
  double first_token_p90_ms = 0;
  double first_token_p99_ms = 0;
  double tokens_per_second = 0;  // of answers, from the first text on; 0: nobody answered
};
ScenarioSummary Summarize(const ServerFigures& server, const std::string& scenario);

// A request that both servers answered.
struct RequestPair {
  std::string what;
  size_t repetition = 0;
  double first_token_ratio = 0;  // time to the first token, ours over theirs
};

// Two servers in a scenario. Requests pair up by repetition and place in it.
struct PairSummary {
  std::string scenario;
  std::vector<RequestPair> pairs;
  double first_token_ratio = 0;  // their geometric mean; 0: no pair
};
PairSummary Compare(const ServerFigures& ours, const ServerFigures& theirs,
                    const std::string& scenario);

// In the order in which they are first met, servers one after the other.
std::vector<std::string> ScenarioNames(const BenchResult& result);
// The runs of a scenario that went well, in their order.
std::vector<const ScenarioRun*> GoodRuns(const ServerFigures& server, const std::string& scenario);

// The run of the same scenario and repetition that went well; none: null.
const ScenarioRun* FindPartner(const ScenarioRun& run, const ServerFigures& server);

// Results that were seen one after the other, brought together: one for each model, with a server's
// runs, found by its name, behind each other as further repetitions. Models and servers stay in the
// order in which they are first met.
std::vector<BenchResult> MergeResults(const std::vector<BenchResult>& results);
// "hybrid: qwen35", "qwen35": what a result is called beside others.
std::string ResultTitle(const BenchResult& result);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_SUMMARY_H_
