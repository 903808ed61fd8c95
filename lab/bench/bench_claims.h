// What Cairn says of itself beside other servers, held against a benchmark. Pure functions. "Ours"
// is the first server of each result, the others are peers.

#ifndef CAIRN_LAB_BENCH_BENCH_CLAIMS_H_
#define CAIRN_LAB_BENCH_BENCH_CLAIMS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lab/bench/bench_result.h"

namespace cairn {

// A scenario in which a claim does not hold, or cannot be checked.
struct ClaimCase {
  std::string title;  // of the result
  std::string scenario;
  std::string why;  // with the figures
};

struct ClaimCheck {
  size_t held = 0;  // scenarios of all results (and, of peers, each peer's)
  std::vector<ClaimCase> broken;
  std::vector<ClaimCase> unchecked;
};

// In each run, our server reads on the requests' own time at most AllowedTokens().
ClaimCheck CheckAllowed(const std::vector<BenchResult>& results);
// In no run does it read more than the peer did, and a grid step a request.
ClaimCheck CheckPeers(const std::vector<BenchResult>& results);

// The time to the first token beside one peer, over everything played.
struct PeerRatio {
  std::string peer;
  size_t scenarios = 0;  // of all results
  // The geometric mean of the scenarios' own geometric means, so that each weighs the same.
  double first_token_ratio = 0;
  double least = 0;  // of the scenarios
  double most = 0;
};
// For each peer by its name, over those results that have it.
std::vector<PeerRatio> PeerRatios(const std::vector<BenchResult>& results);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_CLAIMS_H_
