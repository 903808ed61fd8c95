// PublishedPrefixes: what the server's own pages show of the prefixes that it publishes
// (KvEvents does): the ids of tokens, and counters.
//
// Threads: any.

#ifndef CAIRN_TREE_PUBLISHED_PREFIXES_H_
#define CAIRN_TREE_PUBLISHED_PREFIXES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tree/prefix_change.h"
#include "tree/token_ids.h"

namespace cairn {

// Counters since the start, and the present number of published blocks.
struct KvEventsStats {
  uint64_t batches = 0;
  uint64_t stored_blocks = 0;
  uint64_t removed_blocks = 0;
  uint64_t resets = 0;   // logs that were full
  uint64_t replays = 0;  // requests for earlier batches
  std::array<size_t, kPrefixTiers> blocks = {};
};

class PublishedPrefixes {
 public:
  virtual ~PublishedPrefixes() = default;

  virtual KvEventsStats stats() const = 0;
  // Under which tokens are published. Valid as long as this.
  virtual const TokenIds& ids() const = 0;
};

}  // namespace cairn

#endif  // CAIRN_TREE_PUBLISHED_PREFIXES_H_
