// `cairn-lab sim --trace FILE`: computes what a cache with these flags would have saved on recorded
// requests, and how much the best possible cache could have saved.

#ifndef CAIRN_LAB_CMD_SIM_H_
#define CAIRN_LAB_CMD_SIM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/cmd/sim_fleet.h"

namespace CLI {
class App;
}

namespace cairn {

struct SimCommandOptions {
  std::string trace_path;
  std::string format = "auto";
  std::string profile = "qwen3.5-35b-a3b";
  std::string placement = "auto";
  std::string eviction = "value";
  std::string reuse = "live";
  std::vector<std::string> without;  // names of classes of checkpoints
  int64_t ram_mib = -1;              // -1: no limit, 0: no cache
  int64_t disk_gib = 0;              // 0: no disk
  size_t checkpoints_max = 0;        // on one conversation's path; 0: no limit
  size_t sessions = 0;               // concurrent; 0: each starts at its recorded time
  size_t slots = 4;
  size_t context_tokens = 0;  // of all slots together; 0: the tokens of the longest request
  size_t chunk_tokens = 512;
  double prefill_tokens_per_s = 0;  // 0: as the profile says
  bool bound = false;               // also prints the oracle's bound
  std::string json_path;            // also writes the figures here; empty: no file
  FleetCommandOptions fleet;
};

// Adds the subcommand `sim` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddSim(CLI::App* app, SimCommandOptions* options);

// Replays and prints. Returns the program's exit code: 1, with the reason on standard error.
int RunSim(const SimCommandOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_SIM_H_
