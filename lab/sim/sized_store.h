// SizedStore: a snapshot store whose states are only sizes. A state of hundreds of megabytes is a
// claim of eight bytes. The store counts the claimed bytes, so that the cache holds its budget as
// with real states.
//
// A row of logits may follow a claim, or be alone: sizeof(float) bytes stand for the whole row.
//
// If there is a disk, saved objects are on it at once and may be dropped from memory.

#ifndef CAIRN_LAB_SIM_SIZED_STORE_H_
#define CAIRN_LAB_SIM_SIZED_STORE_H_

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "lab/sim/sized_disk.h"
#include "store/snapshot_store.h"

namespace cairn {

Bytes ClaimBytes(size_t bytes);
// Returns the claimed bytes without logits. REQUIRES: `claim` has a claim.
size_t ClaimedBytes(ByteSpan claim);

// `logits_bytes`: the size of a row of logits. `disk` outlives the store.
std::unique_ptr<SnapshotStore> MakeSizedStore(size_t logits_bytes, SizedDisk* disk);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_SIZED_STORE_H_
