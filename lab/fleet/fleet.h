// Fleet: plays a trace on many simulated servers behind a front (lab/fleet/front.h), with or
// without a remote tier that they share (lab/fleet/remote_link.h). Each server is the one of
// `cairn-lab sim`: its own scheduler, cache and policies, its own memory and folder.
//
//   FleetTrace ─> cell, by a hash of the conversation ─> front of the cell ─> SimServer
//                                                                  │  RemoteLink ─> RemoteObjects
//
// Servers serve one request after the other, so a request waits for those before it on its server;
// prefill and moving states take their time. Answers take none of it, but count as in flight while
// they would be generated.
//
// Threads: one.

#ifndef CAIRN_LAB_FLEET_FLEET_H_
#define CAIRN_LAB_FLEET_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/fleet/fleet_trace.h"
#include "lab/fleet/front.h"
#include "lab/fleet/remote_link.h"
#include "lab/sim/simulator.h"

namespace cairn {

struct FleetOptions {
  SimOptions server;          // of each
  size_t context_tokens = 0;  // see ContextTokens()
  size_t servers = 1;
  size_t cell_servers = 0;  // servers of a cell; the last one has what is left. 0: one cell
  // Only the first so many cells are played; requests of others are left out. 0: all.
  size_t cells_played = 0;
  std::string front = "hash";
  FrontOptions front_options;
  RemoteOptions remote;
  // The first server of the first cell ends after half of the requests, with its memory and folder.
  bool lose_server = false;
  // How fast answers are generated; only loads depend on it.
  double answer_tokens_per_s = 50;
};

// Figures of one server, or sums of several.
struct FleetFigures {
  uint64_t requests = 0;
  uint64_t refused = 0;  // too long for the context
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;

  uint64_t read_tokens() const { return prompt_tokens - reused_tokens; }
  double token_hit_rate() const;
  void Add(const FleetFigures& other);
};

struct FleetReport {
  std::vector<FleetFigures> servers;
  FleetFigures all;
  FleetFigures first_half;   // of the requests
  FleetFigures second_half;  // where a server was lost: without it
  // Tokens that no earlier request has: no fleet prefills fewer.
  uint64_t new_tokens = 0;
  uint64_t conversations = 0;
  uint64_t moved = 0;  // requests on another server than the one before of their conversation
  uint64_t disk_written_bytes = 0;
  uint64_t disk_read_bytes = 0;
  std::vector<double> wait_ms;  // of each request, until its prompt was prefilled
  // The remote tier, if there is one.
  RemoteObjects::Moved remote_moved;
  RemoteLink::Counts remote_counts;
  uint64_t remote_bytes = 0;        // held at the end
  std::vector<size_t> reused_each;  // of each request that was not refused, in order
};

// `on_progress` is called with the steps done; may be empty.
// kInvalidArgument: options that contradict each other; no such policy or front.
// kTooLong: a server would meet more tokens than can be numbered.
Result<FleetReport> SimulateFleet(const FleetTrace& trace, const std::vector<FleetStep>& steps,
                                  const FleetOptions& options,
                                  const std::function<void(size_t done)>& on_progress = {});

// Returns one server with the budgets, slots and context of all servers of a fleet.
FleetOptions OneLargeServer(const FleetOptions& fleet);

}  // namespace cairn

#endif  // CAIRN_LAB_FLEET_FLEET_H_
