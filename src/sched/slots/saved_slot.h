// SavedSlot: the contents of a slot apart from the engine: its tokens and their provenance, the
// attention KV on its path, the state at its end, and the checkpoints on its path. It is written as
// stored objects (store/object.h) and read from them:
//
//   slot     | system prefix | turn 1 | turn 2 | turn 3 |
//   objects  [ segment               ][ segment         ]      the KV, from 0 on
//                            S        S                 E      checkpoints, and the end
//
// Values and pure functions; any thread.

#ifndef CAIRN_SCHED_SLOTS_SAVED_SLOT_H_
#define CAIRN_SCHED_SLOTS_SAVED_SLOT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "cache/checkpoint_cache.h"
#include "store/folder/object_folder.h"
#include "store/object.h"

namespace cairn {

// One saved part of a slot.
struct SlotPart {
  enum class Kind : uint8_t {
    kSegment,     // attention KV of a range
    kFullState,   // all of the slot, where KV cannot be cut into segments
    kCheckpoint,  // that the cache holds
    kEnd,         // the state at the slot's end; empty where the model needs none
  };
  Kind kind = Kind::kEnd;
  SegmentGap range = {};       // of a segment
  Checkpoint checkpoint = {};  // of a checkpoint; of the end, the state described as one
};

// The contents of a slot, and its parts, each after those that it needs.
struct SlotContent {
  NamespaceId name_space = 0;
  Tokens tokens = {};
  Provenance provenance = {};
  std::vector<SlotPart> parts = {};
};

// Returns the header of a part. `parent`: the segment before it; empty if it is the first one.
ObjectHeader HeaderOf(const SlotContent& content, const SlotPart& part, const ObjectName& parent);

struct SavedSlot {
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    Bytes bytes = {};
  };
  struct SavedCheckpoint {
    Checkpoint what = {};
    Bytes bytes = {};
  };
  NamespaceId name_space = 0;
  Tokens tokens = {};
  Provenance provenance = {};
  std::vector<Part> parts = {};  // contiguous from 0 to the end, or empty
  std::optional<Bytes> whole = {};
  Bytes end_state = {};
  std::vector<SavedCheckpoint> checkpoints = {};  // shallowest first
};

// Returns the longest conversation in `objects` that can be resumed; `objects` may be in any order.
// `needs_snapshots`: see MemoryTraits. kCorrupt if there is none; the message names the missing
// part.
Result<SavedSlot> ToSavedSlot(std::vector<LoadedObject> objects, bool needs_snapshots);

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_SAVED_SLOT_H_
