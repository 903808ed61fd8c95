// Checkpoint: a place that prompts can resume from, as the cache knows it.
//
// Plain data.

#ifndef CAIRN_CACHE_CHECKPOINT_H_
#define CAIRN_CACHE_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>

#include "base/provenance.h"
#include "policy/placement.h"

namespace cairn {

using CheckpointId = uint64_t;

struct Checkpoint {
  CheckpointId id = 0;
  size_t position = 0;
  CheckpointClass checkpoint_class = CheckpointClass::kInterval;
  size_t bytes = 0;
  // Whose state it is (base/provenance.h); 0: a cold run's to the bit, it lies on the grid.
  LineageId lineage = 0;
  // At the very end of a prompt: the snapshot's last bytes are the logits there, so that the same
  // prompt again reads nothing.
  size_t logits_bytes = 0;
  // ... and all before the last piece was on the grid, as in a cold run.
  bool cold_end = false;
  // How many turns its prompt had, for what placement learns; 0: unknown.
  size_t turns = 0;
  // When it was stored, by the caller's clock (SetNow); negative: before this process.
  double created_ms = -1;
  // The attention KV before it is stored, all of it. Said by Match, as it changes.
  bool kv_stored = false;

  bool on_grid() const { return lineage == 0; }
};

}  // namespace cairn

#endif  // CAIRN_CACHE_CHECKPOINT_H_
