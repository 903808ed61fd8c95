// ServedRemote: the remote tier of `cairn serve`, created from the flags. Without --remote all its
// functions do nothing.

#ifndef CAIRN_CMD_SERVE_REMOTE_SERVED_REMOTE_H_
#define CAIRN_CMD_SERVE_REMOTE_SERVED_REMOTE_H_

#include <atomic>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/trace_events.h"
#include "base/result.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/remote/remote_flags.h"
#include "cmd/serve/remote/tier_lookup.h"
#include "remote/tier/remote_tier.h"

namespace cairn {

class ServedRemote {
 public:
  // Reads the files that the flags name. Connects to nothing. kInvalidArgument if the flags do not
  // fit one another or there is no disk tier.
  Status Open(const ServeOptions& options, LogSink log);
  // Has the disk store tell the tier what is written and used. Call before it is opened.
  void Watch(DiskCallbacks* callbacks);
  // Starts the tier's threads. `disk` and `clock` outlive this object, `wake` its threads.
  void Start(const ServeOptions& options, const DiskCache& disk, const Clock* clock,
             std::function<void()> wake, TraceEvents* trace);
  // nullptr without a tier.
  RemoteLookup* lookup() const { return lookup_.get(); }
  // Uploads what is worth it, for at most `ms_max`, and says so in the log.
  void Drain(double ms_max) const;

 private:
  LogSink log_;
  std::unique_ptr<RemoteStores> stores_;
  std::unique_ptr<RemoteTier> tier_;
  std::unique_ptr<TierLookup> lookup_;
  // Points to tier_. The disk's thread uses it, which may be running before there is a tier.
  std::atomic<RemoteTier*> started_{nullptr};
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_REMOTE_SERVED_REMOTE_H_
