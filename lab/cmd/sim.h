// `cairn-lab sim --trace FILE`: what a cache with these flags would have saved on requests that
// were really sent, and how much the best possible cache could have.

#ifndef CAIRN_LAB_CMD_SIM_H_
#define CAIRN_LAB_CMD_SIM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  size_t checkpoints_max = 0;        // on one conversation's path; 0: as many as fit
  size_t sessions = 0;               // side by side; 0: all when the trace says so
  size_t slots = 4;
  size_t context_tokens = 0;  // of all slots together; 0: what the longest request needs
  size_t chunk_tokens = 512;
  bool bound = false;     // also what no cache could beat
  std::string json_path;  // the figures go there too; empty: nowhere
};

// Adds the subcommand `sim` to `app`; parsing fills `options`, which must outlive it.
CLI::App* AddSim(CLI::App* app, SimCommandOptions* options);

// Replays and prints. Returns the program's exit code: 1 with what went wrong on standard error.
int RunSim(const SimCommandOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_SIM_H_
