// Plays a scenario against a server and says what that cost.

#ifndef CAIRN_LAB_BENCH_BENCH_RUNNER_H_
#define CAIRN_LAB_BENCH_BENCH_RUNNER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lab/bench/bench_result.h"
#include "lab/bench/scenario.h"

namespace cairn {

struct PlayOptions {
  std::string url;
  const Clock* clock = nullptr;  // outlives the call; thread-safe
  double pause_ms = 0;           // before every step that asks, the first aside
  // Ends the server and starts it again; it may return before the server is ready. May be empty for
  // a scenario that does not restart.
  std::function<Status()> restart = nullptr;
  // Called on the calling thread with the number of requests that are done. May be empty.
  std::function<void(size_t done)> on_progress = nullptr;
};

struct PlayedScenario {
  ScenarioRun run;
  // What is not known or not sure about the figures, in sentences for people.
  std::vector<std::string> notes;
};

// Plays all steps; then asks the server for the token ids of everything that was sent, which costs
// it no reading. A request that fails ends the scenario: `run.error`.
PlayedScenario PlayScenario(const Scenario& scenario, const PlayOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_RUNNER_H_
