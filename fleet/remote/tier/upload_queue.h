// UploadQueue: decides which objects of the folder are uploaded, and when. It holds names and
// facts, no bytes and no tokens.
//
//   a snapshot from which two conversations part     at once: every server wants it
//   a snapshot that was restored twice               at once
//   the newest snapshot of a conversation            once nothing was written for `after_ms`
//   segments                                         `after_ms` after they were written
//   a snapshot that a later one of its class passed  never
//
// On a drain all of the above is due. Of what is due, the object with the most worth per byte comes
// first, and what is worth less than its upload takes does not come at all.
//
// Threads: one at a time.

#ifndef CAIRN_FLEET_REMOTE_TIER_UPLOAD_QUEUE_H_
#define CAIRN_FLEET_REMOTE_TIER_UPLOAD_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "fleet/remote/remote_names.h"
#include "store/object.h"

namespace cairn {

// The facts of an object that decide about its upload.
struct UploadRecord {
  ObjectKind kind = ObjectKind::kSnapshot;
  uint8_t checkpoint_class = 0;
  uint64_t name_space = 0;
  size_t begin = 0;
  size_t end = 0;
  LineageId lineage = 0;
  double worth_ms = 0;
  uint64_t bytes = 0;
  // Hashes of its whole blocks, from 0 to its end.
  std::vector<BlockHash> blocks = {};
  double written_ms = 0;
};

class UploadQueue {
 public:
  static constexpr size_t kObjectsMax = 10'000;

  explicit UploadQueue(double after_ms) : after_ms_(after_ms) {}

  void OnWritten(const ObjectName& name, UploadRecord record);
  // Counts a use. Does nothing if the object is not in the queue.
  void OnUsed(const ObjectName& name);
  // Puts an object into the queue that is due now.
  void AddDue(const ObjectName& name, UploadRecord record);

  // Takes the next object that is due; nullopt if there is none. `bytes_per_ms`: the speed of
  // uploads. `all`: as on a drain.
  struct Upload {
    ObjectName name;
    UploadRecord record;
  };
  std::optional<Upload> TakeNext(double now_ms, double bytes_per_ms, bool all);
  // When the next object is due, by the caller's clock; nullopt if none will be.
  std::optional<double> NextDueMs() const;
  size_t size() const { return objects_.size(); }
  // The number of objects that are due or will be.
  size_t waiting() const;

 private:
  struct Object {
    UploadRecord record;
    bool due = false;
    bool passed = false;
    uint64_t uses = 0;
    // The block behind its last one, of the first conversation that goes on from there.
    std::optional<BlockHash> next = {};
  };

  // `longer` begins with `shorter`: notes what that says about both.
  static void Relate(Object* shorter, const Object& longer);
  double DueMs(const Object& object, bool all) const;
  void KeepFew();

  const double after_ms_;
  std::map<ObjectName, Object> objects_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_UPLOAD_QUEUE_H_
