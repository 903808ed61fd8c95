// Plays a scenario against a server and measures tokens and times.

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
  double pause_ms = 0;           // before every step that sends requests, except the first
  // Stops the server and starts it again; it may return before the server is ready. May be empty if
  // the scenario has no RestartStep.
  std::function<Status()> restart = nullptr;
  // Called on the calling thread with the number of finished requests. May be empty.
  std::function<void(size_t done)> on_progress = nullptr;
};

struct PlayedScenario {
  ScenarioRun run;
  // Reservations about the figures: missing or doubtful ones, as sentences for people.
  std::vector<std::string> notes;
};

// Plays all steps, then has the server tokenise everything that was sent, which prefills nothing.
// A request that fails ends the scenario; `run.error` says why.
PlayedScenario PlayScenario(const Scenario& scenario, const PlayOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_RUNNER_H_
