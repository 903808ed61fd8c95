// RemotePlan: which remote objects to fetch for a prompt, chosen from what the index found.
//
//   prompt     | ........ 12,000 tokens, of which the local cache reaches 3,000 ............ |
//   segments   | A 0 - 8,192                    | B 8,192 - 9,100 | C 9,100 - 11,800 |
//   snapshots            S 3,000                                        T 11,800 ^
//   plan       A, B, C, T: without those that are in the folder, if fetching is faster by half
//
// Pure functions; any thread.

#ifndef CAIRN_REMOTE_TIER_REMOTE_PLAN_H_
#define CAIRN_REMOTE_TIER_REMOTE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/tokens.h"
#include "remote/remote_index.h"
#include "remote/remote_names.h"
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
// Whether fetching takes at most half of the time that it saves.
bool FetchPays(const RemoteAsk& ask, const RemotePace& pace, size_t reach_tokens, uint64_t bytes);
// How long a request waits for the plan's objects: some times longer than they should take, and
// never longer than their prefill would.
double FetchWaitMs(const RemoteAsk& ask, const RemotePace& pace, const RemotePlan& plan);

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
  // Returns the deepest objects that are worth fetching; empty if there are none. `place_of` tells
  // whether an object is in the folder already, or was fetched before and is of no use.
  RemotePlan Choose(const RemotePace& pace,
                    const std::function<Place(const RemoteItem&)>& place_of);

 private:
  struct Candidate {
    RemoteItem item;
    size_t blocks_tokens = 0;  // the deepest block that it was found under ends here
    bool is_whole = false;     // its name proves that the prompt begins with its tokens
  };

  Candidate* Find(size_t key, const RemoteId& id);
  void Verify(Candidate* candidate) const;
  // Appends all that `target` needs, and itself. False if something is missing.
  bool AppendPath(const Candidate& target, size_t reach, std::vector<RemoteItem>* items);
  // Appends the segments that `id` continues and itself, shallowest first. False if one is missing.
  bool AppendChain(size_t key, RemoteId id, size_t end, std::vector<RemoteItem>* items);
  // Returns how far `candidate` would get; 0 if it alone leads nowhere.
  size_t ReachOf(const Candidate& candidate) const;

  const RemoteAsk* const ask_;
  const Fingerprint fingerprint_;
  const std::vector<RemoteNames>* const names_;
  std::vector<Candidate> candidates_;
};

}  // namespace cairn

#endif  // CAIRN_REMOTE_TIER_REMOTE_PLAN_H_
