// FullStateIndex: indexes the stored full states of slots. Where attention KV cannot be cut into
// segments (architectures outside the verified table, contexts with one stream per slot), the state
// that a slot is about to lose is stored in full: all its KV and the state at its end. Restored
// into a slot, it offers the same resume paths as before: its end, a truncation, or a snapshot on
// its path.
//
//   slot    | system prefix | conversation A ... |   B takes the slot
//   stored  [ the full state, 3,200 tokens       ]   A returns: it is restored, and continued or
//                                                    truncated
//
// The index holds no bytes: the store holds them under the same id. A prefix that two full states
// share is stored twice, because neither can be cut.
//
// Threads: called by one thread.

#ifndef CAIRN_CACHE_OBJECTS_FULL_STATE_INDEX_H_
#define CAIRN_CACHE_OBJECTS_FULL_STATE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "cache/objects/segment_index.h"

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
  // When an earlier or another process used it last; 0: this process has used it.
  int64_t used_before_ns = 0;
  uint64_t uses = 0;
};

class FullStateIndex {
 public:
  // Returns the full states that begin as `prompt` does, oldest first; valid until Add or Remove.
  // Compares with every stored one: they are large, so there are few.
  std::vector<const FullState*> Sharing(NamespaceId name_space, TokenSpan prompt) const;
  // Returns the full states that `whole` contains bit for bit, so that it can replace them.
  std::vector<FullStateId> Within(const FullState& whole) const;

  void Add(FullState whole);
  // REQUIRES: no pins.
  void Remove(FullStateId id);
  bool Holds(FullStateId id) const { return full_states_.contains(id); }
  FullState& Get(FullStateId id);
  const std::unordered_map<FullStateId, FullState>& full_states() const { return full_states_; }
  // Memory that the tokens of all full states take.
  size_t token_bytes() const { return token_bytes_; }

 private:
  std::unordered_map<FullStateId, FullState> full_states_;
  size_t token_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_FULL_STATE_INDEX_H_
