// RemotePlan: which remote objects to fetch for a prompt, chosen from what the index found.
//
//   prompt     | ........ 12,000 tokens, of which the local cache reaches 3,000 ............ |
//   segments   | A 0 - 8,192                    | B 8,192 - 9,100 | C 9,100 - 11,800 |
//   snapshots            S 3,000                                        T 11,800 ^
//   plan       A, B, C, T: without those that are in the folder, if fetching is faster by half
//
// Pure functions; any thread.

#ifndef CAIRN_FLEET_REMOTE_TIER_REMOTE_PLAN_H_
#define CAIRN_FLEET_REMOTE_TIER_REMOTE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tokens.h"
#include "fleet/remote/remote_names.h"
#include "fleet/remote/remote_objects.h"
#include "store/object.h"

namespace cairn {

// A prompt that waits in the queue.
struct RemoteAsk {
  uint64_t name_space = 0;  // as in ObjectHeader
  Tokens tokens;
  size_t reach_tokens = 0;          // how far the local cache and the slots get without prefill
  double prefill_ms_per_token = 0;  // 0: not measured yet
  // See SlotsView.
  bool needs_snapshots = false;
  bool snapshots_need_kv = false;
  // The size of the states of this server's model. 0 and 0: not known.
  uint64_t kv_bytes_per_token = 0;
  uint64_t snapshot_bytes = 0;  // with its logits
};

// An object that the index found, and how far it agrees with the prompt by all that is known.
struct RemoteItem {
  size_t key = 0;  // the number of the RemoteKey under which it was found
  RemoteEntry entry;
  std::string index_key;  // one of those that led to it
  // It must agree with the prompt up to here, or it is not what the index says.
  size_t agrees_tokens = 0;
  ObjectName name = {};  // empty if not known: the object goes on behind the prompt
};

struct RemotePlan {
  std::vector<RemoteItem> items;  // in the order in which they are useful
  uint64_t bytes = 0;
  size_t reach_tokens = 0;  // with all of them
};

// The measured speed of the remote store, and the limits of what is worth a fetch.
struct RemotePace {
  double bytes_per_ms = 0;
  double round_trip_ms = 0;
  double saved_ms_min = 500;
};

// The time that prefilling `tokens` takes. Before it was measured, a thousand tokens a second are
// assumed.
double PrefillMs(const RemoteAsk& ask, size_t tokens);
// Returns the most bytes that an object of the model can have as it is stored, with some to spare.
// What an entry or an object says of itself is no limit: anybody may have written it.
uint64_t ObjectBytesMax(const RemoteAsk& ask, const RemoteEntry& entry);
// Whether fetching takes at most half of the time that it saves.
bool FetchPays(const RemoteAsk& ask, const RemotePace& pace, size_t reach_tokens, uint64_t bytes);
// How long a request waits for the plan's objects: some times longer than they should take, and
// never longer than their prefill would.
double FetchWaitMs(const RemoteAsk& ask, const RemotePace& pace, const RemotePlan& plan);

// Whatever the entries say, the work is that of looking at each of them a few times.
class RemotePlanner {
 public:
  // `names`: of each key, for the ask's namespace. All arguments outlive the planner.
  RemotePlanner(const RemoteAsk* ask, const Fingerprint& fingerprint,
                const std::vector<RemoteNames>* names)
      : ask_(ask), fingerprint_(fingerprint), names_(names) {}

  // Adds the entries found under the block number `block` with the key number `key`.
  void Add(size_t key, size_t block, const std::string& index_key,
           const std::vector<RemoteEntry>& entries);
  enum class Place { kRemote, kLocal, kUseless };
  using PlaceOf = std::function<Place(const RemoteItem&)>;
  // Returns the deepest objects that are worth fetching; empty if there are none. `place_of` tells
  // whether an object is in the folder already, or was fetched before and is of no use. It is asked
  // once for each object at most.
  RemotePlan Choose(const RemotePace& pace, const PlaceOf& place_of);

 private:
  // The cost of fetching some objects.
  struct Cost {
    bool leads = false;  // nothing is missing, and nothing useless
    size_t objects = 0;
    size_t remote = 0;  // of these, those to fetch
    uint64_t bytes = 0;
  };
  struct Candidate {
    RemoteItem item;
    size_t blocks_tokens = 0;  // the deepest block that it was found under ends here
    bool is_whole = false;     // its name proves that the prompt begins with its tokens
    // Computed once: that of a segment and all that it continues.
    std::optional<Cost> chain = {};
  };

  Candidate* Find(size_t key, const RemoteId& id);
  // Returns the segment `id` if it has the token before `end`; nullptr if there is no such one.
  Candidate* FindSegment(size_t key, const RemoteId& id, size_t end);
  void Verify(Candidate* candidate) const;
  // The cost of `candidate` on top of `below`.
  static Cost OnTop(const Cost& below, const Candidate& candidate, const PlaceOf& place_of);
  const Cost& ChainOf(Candidate* segment, const PlaceOf& place_of);
  // Returns the segment that a target ends in; nullptr if it needs none. `missing` is set if it
  // needs one that is not there.
  Candidate* SegmentOf(Candidate* target, size_t reach, bool* missing);
  // Returns the target and all that it needs, shallowest first.
  std::vector<RemoteItem> PathOf(Candidate* target, Candidate* segment, size_t reach);
  // Returns how far `candidate` would get; 0 if it alone leads nowhere.
  size_t ReachOf(const Candidate& candidate) const;

  const RemoteAsk* const ask_;
  const Fingerprint fingerprint_;
  const std::vector<RemoteNames>* const names_;
  std::vector<Candidate> candidates_;
  std::map<std::pair<size_t, RemoteId>, size_t> places_;  // in candidates_, by key and id
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_TIER_REMOTE_PLAN_H_
