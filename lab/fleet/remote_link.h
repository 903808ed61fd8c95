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
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/provenance.h"
#include "lab/fleet/fleet_trace.h"
#include "lab/sim/simulator.h"
#include "store/object.h"

namespace cairn {

// RemoteObjects: the remote tier that all servers of a fleet share, in which objects are only
// sizes: an S3 store of a budget, and an index that finds what stands on a prompt's path.
//
// The last token of an object stands for all before it (lab/fleet/fleet_trace.h). The least
// recently used objects leave for newer ones, a path from its end: what uses an object uses the
// segments before it too.
//
// Threads: one.

using RemoteId = uint64_t;

struct RemoteObject {
  // The fields of an object's header that the tokens do not give.
  ObjectKind kind = ObjectKind::kSnapshot;
  size_t begin = 0;
  size_t end = 0;
  LineageId lineage = 0;
  uint8_t checkpoint_class = 0;
  bool cold_end = false;
  size_t logits_bytes = 0;
  size_t turns = 0;
  std::vector<TokenRange> answers = {};
  double worth_ms = 0;

  std::vector<FleetRun> tokens;  // from 0 to `end`
  FleetToken last;               // the token before `end`
  RemoteId parent = 0;  // the segment that ends before it, or that a snapshot stands on; 0: none
  uint64_t state_bytes = 0;   // without a row of logits
  uint64_t stored_bytes = 0;  // with it
  size_t server = 0;          // that wrote it
  double written_ms = 0;      // when the upload has ended, and others may find it
};

class RemoteObjects {
 public:
  // Totals since the start.
  struct Moved {
    uint64_t uploaded_bytes = 0;
    uint64_t uploads = 0;
    uint64_t downloaded_bytes = 0;
    uint64_t downloads = 0;  // objects
    uint64_t evicted = 0;
  };

  explicit RemoteObjects(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  uint64_t bytes() const { return bytes_; }
  size_t size() const { return objects_.size(); }
  const Moved& moved() const { return moved_; }

  // Returns nullptr if there is no such object.
  const RemoteObject* Get(RemoteId id) const;
  // Returns the object with the same content; 0 if there is none.
  RemoteId Find(const RemoteObject& object) const;
  // Writes an object, evicting others for it. Returns its id, or 0 if it is larger than the budget.
  // REQUIRES: Find() returns 0, and the parent exists, if there is one.
  RemoteId Add(const RemoteObject& object);
  // Counts a use of the object and of the segments before it.
  void Use(RemoteId id);
  // Counts a download of one object.
  void Download(RemoteId id);
  // Removes what the server has not written completely.
  void LoseUnwritten(size_t server, double now_ms);
  // Returns the objects whose last token is in the conversation's private part, or in a header.
  const std::set<RemoteId>& Of(const FleetToken& last) const;

 private:
  using Key = std::tuple<ObjectKind, size_t, size_t, LineageId, bool, FleetToken>;
  struct Held {
    RemoteObject object;
    uint64_t used_tick = 0;
  };

  static Key KeyOf(const RemoteObject& object);
  static uint64_t GroupOf(const FleetToken& last);
  void SetUsed(RemoteId id);
  void Remove(RemoteId id);

  const uint64_t bytes_max_;
  std::unordered_map<RemoteId, Held> objects_;
  std::map<Key, RemoteId> by_key_;
  std::map<uint64_t, RemoteId> by_use_;  // by used_tick
  std::unordered_map<uint64_t, std::set<RemoteId>> groups_;
  uint64_t bytes_ = 0;
  uint64_t tick_ = 0;
  RemoteId last_id_ = 0;
  const std::set<RemoteId> none_;
  Moved moved_;
};

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
