// RemoteLookup: states of other servers, fetched into the cache's folder while a request waits in
// the queue. cmd/serve/remote implements it with a RemoteTier; a scheduler without one has none.
//
// Threads: the context thread, except for SetDraining and figures(). No call waits.

#ifndef CAIRN_SCHED_REQUEST_REMOTE_LOOKUP_H_
#define CAIRN_SCHED_REQUEST_REMOTE_LOOKUP_H_

#include <cstddef>
#include <cstdint>

#include "base/tokens.h"

namespace cairn {

// Counters since the start, and the present state of the remote store.
struct RemoteFigures {
  bool on = false;
  uint64_t lookups = 0;
  uint64_t hits = 0;
  uint64_t too_slow = 0;
  uint64_t fetched = 0;
  uint64_t fetched_bytes = 0;
  double fetch_ms = 0;
  uint64_t uploaded = 0;
  uint64_t uploaded_bytes = 0;
  uint64_t corrupt = 0;
  uint64_t stale = 0;
  uint64_t failures = 0;
  uint64_t to_upload = 0;
  bool open = false;
  bool refusing = false;
};

class RemoteLookup {
 public:
  using Ticket = uint64_t;

  struct Ask {
    uint64_t name_space = 0;  // the saved name (SavedAs)
    Tokens tokens;
    size_t reach_tokens = 0;          // how far it gets without prefill now
    double prefill_ms_per_token = 0;  // 0: not measured yet
    // See SlotsView.
    bool needs_snapshots = false;
    bool snapshots_need_kv = false;
    // The size of the model's states, which bounds what is fetched; 0 and 0: not known.
    size_t kv_bytes_per_token = 0;
    size_t snapshot_bytes = 0;  // with its logits
  };
  enum class State {
    kLooking,
    kFetching,  // something that is worth waiting for
    kDone,      // nothing was found, or the cache has it, or it takes too long
  };

  virtual ~RemoteLookup() = default;
  // Returns 0 if there is nothing to wait for.
  virtual Ticket Begin(Ask ask) = 0;
  virtual State StateOf(Ticket ticket) = 0;
  virtual void End(Ticket ticket) = 0;
  // Any thread, both. While draining, all that other servers may need is uploaded at once.
  virtual void SetDraining(bool /*draining*/) {}
  virtual RemoteFigures figures() const { return {}; }
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_REMOTE_LOOKUP_H_
