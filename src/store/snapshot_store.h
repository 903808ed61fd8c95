// SnapshotStore: where the bytes of snapshots live. This is the header of store/ that others
// include; each store is a file of its own behind it. A store decides nothing: what to keep and
// what to give up is the cache's affair.
//
// Threads: called by one thread.

#ifndef CAIRN_STORE_SNAPSHOT_STORE_H_
#define CAIRN_STORE_SNAPSHOT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

// Given out by the cache, never used twice.
using SnapshotId = uint64_t;

class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  // What holding `bytes` takes of a budget. A store that writes fewer than it is given, or only
  // plays at holding them, says so here.
  virtual size_t BytesFor(ByteSpan bytes) const { return bytes.size(); }
  // Takes over `bytes`. kUnavailable: this store keeps nothing.
  // REQUIRES: `id` is not held.
  virtual Status Put(SnapshotId id, Bytes bytes) = 0;
  // The bytes of `id`, valid until it is erased. kNotFound: they are gone.
  virtual Result<std::span<const uint8_t>> Get(SnapshotId id) const = 0;
  // Nothing happens when `id` is not held.
  virtual void Erase(SnapshotId id) = 0;
  // Of all snapshots held, as BytesFor counts them.
  virtual size_t bytes() const = 0;
};

// Each with its file.
std::unique_ptr<SnapshotStore> MakeRamStore();
std::unique_ptr<SnapshotStore> MakeNoneStore();

}  // namespace cairn

#endif  // CAIRN_STORE_SNAPSHOT_STORE_H_
