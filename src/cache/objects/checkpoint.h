// Checkpoint: a position that prompts can resume from, as the cache describes it.
//
// Plain data.

#ifndef CAIRN_CACHE_OBJECTS_CHECKPOINT_H_
#define CAIRN_CACHE_OBJECTS_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/provenance.h"
#include "policy/placement.h"

namespace cairn {

using CheckpointId = uint64_t;

struct Checkpoint {
  CheckpointId id = 0;
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  size_t bytes = 0;
  // The run whose state it holds (base/provenance.h). 0: the state lies on the grid and is
  // bit-identical to that of a cold run.
  LineageId lineage = 0;
  // Nonzero for a checkpoint at the very end of a prompt: the last bytes of its snapshot are the
  // logits there, so the same prompt needs no prefill at all.
  size_t logits_bytes = 0;
  // At a prompt's end: everything before the last chunk was on the grid, as in a cold run.
  bool cold_end = false;
  // The number of turns of its prompt, which placement learns from; 0 if unknown.
  size_t turns = 0;
  // How many answers its conversation has so far: those that the slot generated, or the turns of
  // the prompt behind which it generated the last one. 0 if it generated none.
  size_t answers = 0;
  // When it was stored, by the caller's clock (SetNow); negative if before this process started.
  double created_ms = -1;
  // Whether all attention KV before it is stored. Set by Match, as it changes over time.
  bool kv_stored = false;

  bool on_grid() const { return lineage == 0; }
};

// Returns the state alone of a stored checkpoint, whose logits lie behind it.
inline ByteSpan WithoutLogits(ByteSpan stored, const Checkpoint& checkpoint) {
  return stored.first(stored.size() - checkpoint.logits_bytes);
}

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_CHECKPOINT_H_
