#include "lab/bench/bench_claims.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "lab/bench/bench_summary.h"

namespace cairn {
namespace {

// What a scenario comes to: the first run that breaks the claim decides.
struct Verdict {
  size_t runs = 0;  // that could be checked
  std::string broken;
};

// `limit` of a run is how many tokens it may read, or less than 0 where nobody knows, and `what`
// says what the limit is made of.
void CheckRun(const ScenarioRun& run, double limit, const std::string& what, Verdict* verdict) {
  if (limit < 0) return;
  ++verdict->runs;
  const auto read = static_cast<double>(CountTokens(run).read);
  if (read <= limit || !verdict->broken.empty()) return;
  verdict->broken = "run " + std::to_string(run.repetition + 1) + " read " +
                    WithCommas(CountTokens(run).read) + ", allowed are " +
                    WithCommas(static_cast<size_t>(limit)) + " (" + what + ")";
}

// `error`: what went wrong in a run; empty: nothing did. `unknown`: why there is nothing to check
// when nothing went wrong.
void AddVerdict(const Verdict& verdict, ClaimCase where, const std::string& error,
                const std::string& unknown, ClaimCheck* check) {
  if (!verdict.broken.empty()) {
    where.why += verdict.broken;
    check->broken.push_back(std::move(where));
  } else if (verdict.runs == 0 || !error.empty()) {
    where.why += error.empty() ? unknown : error;
    check->unchecked.push_back(std::move(where));
  } else {
    ++check->held;
  }
}

std::string Steps(size_t requests, size_t grid_tokens) {
  return grid_tokens == 0
             ? ""
             : " + " + std::to_string(requests) + " steps of " + std::to_string(grid_tokens);
}

std::string FirstError(const ServerFigures& server, const std::string& scenario) {
  const ScenarioSummary summary = Summarize(server, scenario);
  if (!summary.errors.empty()) return server.name + " failed: " + summary.errors.front();
  return summary.runs == 0 ? server.name + " did not play it" : "";
}

void CheckPeer(const BenchResult& result, const ServerFigures& peer, const std::string& scenario,
               ClaimCheck* check) {
  const ServerFigures& ours = result.servers.front();
  Verdict verdict;
  for (const ScenarioRun* run : GoodRuns(ours, scenario)) {
    const ScenarioRun* const partner = FindPartner(*run, peer);
    if (partner == nullptr) continue;
    const RunTokens theirs = CountTokens(*partner);
    const size_t requests = run->requests.size();
    CheckRun(*run, static_cast<double>(theirs.read + (requests * ours.grid_tokens)),
             WithCommas(theirs.read) + Steps(requests, ours.grid_tokens), &verdict);
  }
  std::string error = FirstError(ours, scenario);
  if (error.empty()) error = FirstError(peer, scenario);
  AddVerdict(verdict, {ResultTitle(result), scenario, "beside " + peer.name + ": "}, error,
             "no run has a partner", check);
}

}  // namespace

ClaimCheck CheckAllowed(const std::vector<BenchResult>& results) {
  ClaimCheck check;
  for (const BenchResult& result : results) {
    if (result.servers.empty()) continue;
    const ServerFigures& ours = result.servers.front();
    for (const std::string& scenario : ScenarioNames(result)) {
      Verdict verdict;
      for (const ScenarioRun* run : GoodRuns(ours, scenario)) {
        const RunTokens tokens = CountTokens(*run);
        const double limit =
            tokens.lower_bound == 0
                ? -1
                : AllowedTokens(tokens.lower_bound, tokens.requests, ours.grid_tokens);
        CheckRun(*run, limit,
                 "1.02 times " + WithCommas(tokens.lower_bound) +
                     Steps(tokens.requests, ours.grid_tokens),
                 &verdict);
      }
      AddVerdict(verdict, {ResultTitle(result), scenario, ""}, FirstError(ours, scenario),
                 "what is unavoidable is not known", &check);
    }
  }
  return check;
}

ClaimCheck CheckPeers(const std::vector<BenchResult>& results) {
  ClaimCheck check;
  for (const BenchResult& result : results) {
    for (const std::string& scenario : ScenarioNames(result)) {
      for (size_t i = 1; i < result.servers.size(); ++i) {
        CheckPeer(result, result.servers[i], scenario, &check);
      }
    }
  }
  return check;
}

std::vector<PeerRatio> PeerRatios(const std::vector<BenchResult>& results) {
  std::vector<PeerRatio> ratios;
  std::vector<std::vector<double>> values;  // one list for each
  for (const BenchResult& result : results) {
    for (size_t i = 1; i < result.servers.size(); ++i) {
      const std::string& name = result.servers[i].name;
      const auto known = std::find_if(ratios.begin(), ratios.end(),
                                      [&](const PeerRatio& ratio) { return ratio.peer == name; });
      const auto at = static_cast<size_t>(known - ratios.begin());
      if (known == ratios.end()) {
        ratios.push_back({name, 0, 0, 0, 0});
        values.emplace_back();
      }
      for (const std::string& scenario : ScenarioNames(result)) {
        const PairSummary pairs = Compare(result.servers.front(), result.servers[i], scenario);
        if (!pairs.pairs.empty()) values[at].push_back(pairs.first_token_ratio);
      }
    }
  }
  for (size_t i = 0; i < ratios.size(); ++i) {
    if (values[i].empty()) continue;
    ratios[i].scenarios = values[i].size();
    ratios[i].first_token_ratio = GeometricMean(values[i]);
    const auto [least, most] = std::minmax_element(values[i].begin(), values[i].end());
    ratios[i].least = *least;
    ratios[i].most = *most;
  }
  return ratios;
}

}  // namespace cairn
