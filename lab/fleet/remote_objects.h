// RemoteObjects: the remote tier that all servers of a fleet share, in which objects are only
// sizes: an S3 store of a budget, and an index that finds what stands on a prompt's path.
//
// The last token of an object stands for all before it (lab/fleet/fleet_trace.h). The least
// recently used objects leave for newer ones, a path from its end: what uses an object uses the
// segments before it too.
//
// Threads: one.

#ifndef CAIRN_LAB_FLEET_REMOTE_OBJECTS_H_
#define CAIRN_LAB_FLEET_REMOTE_OBJECTS_H_

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
#include "store/object.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_LAB_FLEET_REMOTE_OBJECTS_H_
