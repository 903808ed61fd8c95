// RemoteLink: one server's use of the remote tier, by the rules of a real one:
//
//   written   a header's checkpoint that two conversations have used, at once;
//             the newest checkpoint of a conversation that was idle for `after_ms`;
//             objects that the folder evicts
//   fetched   before a request is served, where the folder leaves more than `min_ms` of prefill and
//             the transfer takes less than half of the time that it spares
//
// With a checkpoint go the segments before it that are not there yet. Uploads share a budget; what
// would wait for it for more than a minute is left out. Fetched objects are put into the folder,
// and the cache takes them in by the server's own code.
//
// Threads: one.

#ifndef CAIRN_LAB_FLEET_REMOTE_LINK_H_
#define CAIRN_LAB_FLEET_REMOTE_LINK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lab/fleet/fleet_trace.h"
#include "lab/fleet/remote_objects.h"
#include "lab/sim/simulator.h"

namespace cairn {

struct RemoteOptions {
  uint64_t bytes_max = 0;  // of all servers together; 0: there is no remote tier
  double after_ms = 30'000;
  double min_ms = 500;
  double bytes_per_s = 1.25e9;  // of each server's link: 10 Gbit/s
  double write_bytes_per_s = 16 << 20;
  double round_trip_ms = 2;
};

class RemoteLink {
 public:
  // Totals since the start.
  struct Counts {
    uint64_t fetches = 0;  // requests that something was fetched for
    uint64_t fetched_bytes = 0;
    uint64_t fetched_tokens = 0;  // that the folder could not have resumed
    uint64_t not_worth = 0;       // requests for which the transfer would have taken too long
    uint64_t uploads_left_out = 0;
  };

  // All outlive the link. `number`: the server's.
  RemoteLink(const RemoteOptions& options, size_t number, const FleetTrace* trace,
             Numbering* numbering, SimServer* server, RemoteObjects* objects);

  const Counts& counts() const { return counts_; }

  // Writes and fetches what the rules say before a request is served. Returns how long the request
  // waits for it. REQUIRES: `prompt` is that of `step`.
  double Look(const FleetStep& step, TokenSpan prompt, double now_ms);
  // Writes the newest checkpoint of an idle conversation. `step`: its last request.
  void WriteNewest(const FleetStep& step, double now_ms);

 private:
  void WriteHeader(const FleetStep& step, const std::vector<Checkpoint>& checkpoints,
                   double now_ms);
  // The folder evicts the object.
  void WriteGone(SnapshotId id);
  // Writes a checkpoint, or a segment, and the segments before it.
  void Write(uint64_t id, double now_ms);
  std::optional<RemoteObject> SnapshotOf(CheckpointId id) const;
  std::optional<RemoteObject> SegmentOf(SegmentId id) const;
  // Whether the folder has it.
  bool IsSaved(uint64_t id) const;
  // Returns the segments and the object itself, as they are written; empty if one is missing.
  std::vector<RemoteObject> PathOf(uint64_t id) const;

  struct Part {
    RemoteId id = 0;
    ObjectHeader header;  // as this server names it
  };
  struct Found {
    std::vector<Part> missing;  // of the path, not in the folder; shallowest first
    uint64_t bytes = 0;         // of the missing ones
    size_t tokens = 0;          // where the path ends
  };
  // Returns where prompts can resume from remote objects beyond `reach`, deepest first.
  std::vector<RemoteId> ResumesBeyond(const FleetStep& step, size_t reach, double now_ms) const;
  // Returns nullopt if a part of the path is gone.
  std::optional<Found> FindPath(RemoteId id, double now_ms);
  // `parent`: the name of the segment before it.
  ObjectHeader HeaderOf(const RemoteObject& object, const ObjectName& parent);
  void Stage(const Found& found);
  double TransferMs(uint64_t bytes) const;

  const RemoteOptions options_;
  const size_t number_;
  const FleetTrace* const trace_;
  Numbering* const numbering_;
  SimServer* const server_;
  RemoteObjects* const objects_;
  const double prefill_ms_per_token_;
  std::unordered_map<uint32_t, ConversationKey> header_users_;  // the first of each header's end
  double busy_until_ms_ = 0;                                    // with uploads
  double now_ms_ = 0;
  Counts counts_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_FLEET_REMOTE_LINK_H_
