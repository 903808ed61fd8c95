// `cairn-lab sim --servers N`: what a fleet of servers behind a front would have saved on recorded
// requests, compared with one large server, and what it would have moved.

#ifndef CAIRN_LAB_CMD_SIM_FLEET_H_
#define CAIRN_LAB_CMD_SIM_FLEET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/sim/simulator.h"
#include "trace/replay/trace.h"

namespace CLI {
class App;
}

namespace cairn {

// How `cairn-lab sim` prints its figures, of one server and of a fleet.

inline constexpr double kPercent = 100;
// Played between two updates of the line that tells how far a run is.
inline constexpr size_t kRequestsPerProgress = 64;

// Returns one of the values: `share` (0 to 1) of them are not larger. 0 if there are none.
inline double NearestRank(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

inline void PrintFigure(std::string_view name, const std::string& value) {
  std::printf("%-22.*s %s\n", static_cast<int>(name.size()), name.data(), value.c_str());
}

struct FleetCommandOptions {
  size_t servers = 0;  // 0: one server, without a front
  std::string front = "hash";
  size_t cell_servers = 0;  // 0: one cell
  size_t cells_played = 0;  // 0: all
  size_t copies = 1;
  double stretch = 1;
  double balance_factor = 3;
  size_t ring_points = 16;
  bool remote = false;
  int64_t remote_gib = -1;  // -1: no limit
  double remote_after_s = 30;
  double remote_min_ms = 500;
  double remote_gbit_s = 10;
  double remote_write_mib_s = 16;
  double remote_round_trip_ms = 2;
  bool lose_server = false;
  bool one_large = false;  // also plays one server with all budgets
};

// The flags of `sim` that the figures name.
struct PlayedTrace {
  std::string trace_path;
  std::string profile;
  size_t sessions = 0;
  std::string json_path;  // empty: no file
};

// Adds the flags to `sim`; parsing fills `options`, which must outlive it.
void AddFleetOptions(CLI::App* sim, FleetCommandOptions* options);

// Replays and prints. The error says which flag cannot be used.
Status RunFleet(const FleetCommandOptions& options, const PlayedTrace& run,
                const SimOptions& server, const Trace& trace);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_SIM_FLEET_H_
