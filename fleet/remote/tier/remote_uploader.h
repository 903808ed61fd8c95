// RemoteUploader: uploads an object of the folder, after the segments that it needs, and lists it
// in the index. Objects come before their entries, so an entry leads to a whole path or to a miss.
//
// Threads: one caller of Upload; the rest any.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_UPLOADER_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_UPLOADER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "fleet/remote/remote_names.h"
#include "fleet/remote/tier/breaker.h"
#include "fleet/remote/tier/remote_shared.h"
#include "store/object.h"

namespace cairn {

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

class RemoteUploader {
 public:
  // All arguments outlive it.
  RemoteUploader(const RemoteTierOptions* options, Breaker* index_breaker, Breaker* objects_breaker,
                 RemoteKnown* known)
      : options_(options),
        index_breaker_(index_breaker),
        objects_breaker_(objects_breaker),
        known_(known) {}

  // Returns what the upload queue has to know of an object.
  UploadRecord RecordOf(const ObjectHeader& header) const;
  // Remembers a segment of the folder, which snapshots may need.
  void AddSegment(const ObjectName& name, const UploadRecord& record);
  // Uploads the object and all before it. Returns the bytes sent. kNotFound if the folder has
  // evicted it; errors of the stores, after which it may be tried again.
  Result<uint64_t> Upload(const ObjectName& name);
  // Whether calls may be made now.
  bool MayUpload() { return objects_breaker_->AllowsWrite() && index_breaker_->AllowsWrite(); }

  double bytes_per_ms() const { return pace_.bytes_per_ms(options_->clock->NowMs()); }
  // Fills in the figures of uploads.
  void AddTo(RemoteStats* stats) const;

 private:
  // An object on the way to the store.
  struct Step {
    ObjectName name;
    ObjectHeader header;  // with its tokens
    ObjectName parent;    // the segment that it needs; empty if there is none
    RemoteEntry entry;    // filled in by Send
  };

  Result<ObjectHeader> HeaderOf(const ObjectName& name) const;
  // The segment that holds a snapshot's last token; empty if none is known.
  ObjectName HolderOf(const ObjectHeader& snapshot) const;
  Result<Step> MakeStep(const ObjectName& name) const;
  Result<bool> IsThere(const std::string& path);
  // Whether an object that was in the store still is.
  bool MayRelyOn(const KnownRemote& known, uint64_t name_space);
  void FillEntry(Step* step, uint64_t file_bytes, uint64_t front_bytes) const;
  // Puts the object's bytes into the store unless they are there, and fills in the entry. Returns
  // the bytes sent.
  Result<uint64_t> Send(Step* step);
  Status SendIdentity();
  std::vector<RemoteIndex::Row> RowsOf(const Step& step,
                                       const std::vector<RemoteEntry>& shorts) const;

  const RemoteTierOptions* const options_;
  Breaker* const index_breaker_;
  Breaker* const objects_breaker_;
  RemoteKnown* const known_;
  MeasuredPace pace_;
  bool sent_identity_ = false;
  std::atomic<uint64_t> uploaded_{0};
  std::atomic<uint64_t> uploaded_bytes_{0};

  mutable Mutex mutex_;
  std::map<ObjectName, UploadRecord> segments_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_UPLOADER_H_
