// One round of a soak: a server and its clients. The server is killed, stopped and restarted, with
// damage to its folder in between; then follows one life whose memory is measured.

#ifndef CAIRN_TESTS_SOAK_ROUND_H_
#define CAIRN_TESTS_SOAK_ROUND_H_

#include <atomic>
#include <functional>
#include <string>

#include "soak/plan.h"
#include "soak/process_sample.h"
#include "soak/tally.h"

namespace cairn::soak {

struct RoundOptions {
  std::string program;
  std::string folder;  // created, and removed if nothing was wrong
  const std::atomic<bool>* interrupted = nullptr;
  // Called now and then with a line on the progress.
  std::function<void(const std::string&)> say;
};

struct RoundResult {
  RoundPlan plan;
  Counts counts;
  std::vector<Fault> faults;
  size_t lives = 0;
  // Samples of the last life, once warm and at its end, without clients.
  ProcessSample begin;
  ProcessSample end;
  uint64_t growth_bytes = 0;
  uint64_t growth_allowed = 0;
  size_t samples = 0;
};

// Call it on a thread that lives until it returns; see ServerProcess.
RoundResult PlayRound(const RoundPlan& plan, const RoundOptions& options);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_ROUND_H_
