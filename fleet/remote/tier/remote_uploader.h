// RemoteUploader: uploads an object of the folder, after the segments that it needs, and lists it
// in the index. Objects come before their entries, so an entry leads to a whole path or to a miss.
//
// Threads: one caller of Upload; the rest any.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_UPLOADER_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_UPLOADER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "fleet/remote/tier/breaker.h"
#include "fleet/remote/tier/remote_known.h"
#include "fleet/remote/tier/remote_options.h"
#include "fleet/remote/tier/remote_pace.h"
#include "fleet/remote/tier/upload_queue.h"

namespace cairn {

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
