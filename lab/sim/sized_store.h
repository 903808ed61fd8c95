// SizedStore: states that are only a size. A state of hundreds of megabytes is a claim of eight
// bytes, and the store counts what it claims, so that the cache keeps its budget as if it were
// there.
//
// A row of logits may follow a claim, or stand alone: sizeof(float) bytes that play for all of it.
//
// Where there is a disk, what is saved is there at once and may leave memory.

#ifndef CAIRN_LAB_SIM_SIZED_STORE_H_
#define CAIRN_LAB_SIM_SIZED_STORE_H_

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "lab/sim/sized_disk.h"
#include "store/snapshot_store.h"

namespace cairn {

Bytes ClaimBytes(size_t bytes);
// Without logits. REQUIRES: a claim is there.
size_t ClaimedBytes(ByteSpan claim);

// `logits_bytes`: what a row of logits takes. `disk` outlives the store.
std::unique_ptr<SnapshotStore> MakeSizedStore(size_t logits_bytes, SizedDisk* disk);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_SIZED_STORE_H_
