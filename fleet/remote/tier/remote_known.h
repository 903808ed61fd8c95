// RemoteKnown: the objects that this process knows to be in the remote store, because it uploaded
// or fetched them. It spares uploads, and finds the segments that others need.
//
// Threads: any.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_KNOWN_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_KNOWN_H_

#include <map>
#include <optional>

#include "base/mutex.h"
#include "fleet/remote/remote_index.h"
#include "fleet/remote/remote_names.h"
#include "store/object.h"

namespace cairn {

struct KnownRemote {
  RemoteEntry entry;
  ObjectName parent;        // as the entry's
  bool is_short = false;    // it has no whole block, so the index lists it with those that need it
  double refreshed_ms = 0;  // when its entries were written last
};

class RemoteKnown {
 public:
  // When more are known, all are forgotten: they are uploaded again at most once.
  static constexpr size_t kObjectsMax = 50'000;

  void Put(const ObjectName& name, const KnownRemote& known) {
    const MutexLock lock(mutex_);
    if (objects_.size() >= kObjectsMax) objects_.clear();
    objects_[name] = known;
  }
  std::optional<KnownRemote> Find(const ObjectName& name) const {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return std::nullopt;
    return found->second;
  }
  void Erase(const ObjectName& name) {
    const MutexLock lock(mutex_);
    objects_.erase(name);
  }

 private:
  mutable Mutex mutex_;
  std::map<ObjectName, KnownRemote> objects_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_KNOWN_H_
