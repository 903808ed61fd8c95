// FullStateIndex: slots that were stored whole. Where attention KV cannot be taken apart into
// segments (architectures outside the verified table, contexts with a stream a slot), what a slot
// is about to lose is kept as one piece: all its KV and the state at its end. Set back into a slot,
// it is what that slot was, and the same ways lead on from it: its end, a cut, a snapshot on its
// path.
//
//   slot    | header | conversation A ... |        B takes the slot
//   stored  [ all of it, 3,200 tokens     ]        A comes again: set back, and cut or gone on from
//
// It holds no bytes: those are in a store, under the same number. A prefix that two of them share
// is stored twice; that is the price of not being able to cut.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_FULL_STATE_INDEX_H_
#define CAIRN_CACHE_FULL_STATE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "cache/segment_index.h"

namespace cairn {

using FullStateId = uint64_t;

struct FullState {
  FullStateId id = 0;
  NamespaceId name_space = 0;
  Tokens tokens = {};
  Provenance provenance = {};
  size_t bytes = 0;
  int pins = 0;
  uint64_t created_tick = 0;
  uint64_t used_tick = 0;
  uint64_t uses = 0;
};

class FullStateIndex {
 public:
  // Those that begin as `prompt` does, oldest first; valid until Add or Remove. Looks at each one
  // stored: they are large, so there are few.
  std::vector<const FullState*> Sharing(NamespaceId name_space, TokenSpan prompt) const;
  // Those of which `whole` holds every bit, so that it can take their place.
  std::vector<FullStateId> Within(const FullState& whole) const;

  void Add(FullState whole);
  // REQUIRES: no pins.
  void Remove(FullStateId id);
  bool Holds(FullStateId id) const { return full_states_.contains(id); }
  FullState& Get(FullStateId id);
  const std::unordered_map<FullStateId, FullState>& full_states() const { return full_states_; }
  // What the tokens of all of them take.
  size_t token_bytes() const { return token_bytes_; }

 private:
  std::unordered_map<FullStateId, FullState> full_states_;
  size_t token_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_FULL_STATE_INDEX_H_
