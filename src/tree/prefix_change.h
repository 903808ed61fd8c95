// PrefixChange: how the prefixes change that this server can resume from. The scheduler reports
// them (sched/upkeep/prefix_reporter.h), and KvEvents publishes them to routers.
//
// A *part* is a sequence of tokens with a number. It begins with tokens of another part, its base,
// so that a report has only the tokens that are new:
//
//   part 1   [0 ------------------------ 900)
//   part 2         [600 ------- 1400)            base 1, begin 600: 800 tokens are reported
//   part 3                [1000)                 base 2, begin 1000: a checkpoint, no tokens
//
// Plain data.

#ifndef CAIRN_TREE_PREFIX_CHANGE_H_
#define CAIRN_TREE_PREFIX_CHANGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/tokens.h"
#include "tree/token_ids.h"

namespace cairn {

// Where the state of a prefix lies, fastest first.
enum class PrefixTier : uint8_t { kSlot, kMemory, kDisk };
inline constexpr size_t kPrefixTiers = 3;

// As vLLM's KV events name it.
constexpr std::string_view MediumName(PrefixTier tier) {
  constexpr std::string_view kNames[kPrefixTiers] = {"GPU", "CPU", "STORAGE"};
  return kNames[static_cast<size_t>(tier)];
}

struct PrefixChange {
  enum class Kind : uint8_t {
    kPut,    // a new part, or all of a known one anew
    kMoved,  // only `tier` has changed
    kGone,
  };
  Kind kind = Kind::kPut;
  uint64_t part = 0;  // never 0
  PrefixTier tier = PrefixTier::kMemory;
  // Only kPut:
  uint64_t base = 0;       // 0: it begins at position 0; the part itself: it keeps its beginning
  size_t begin = 0;        // the number of tokens of `base` that it begins with
  Tokens tokens = {};      // those after them
  bool resumable = false;  // prompts resume at its end; otherwise it is only a base of others
  // It is useless without the base: resuming takes the bytes of both, and the part goes when the
  // base goes. Otherwise only the tokens come from there.
  bool needs_base = false;
};

class PrefixWatcher {
 public:
  virtual ~PrefixWatcher() = default;
  // Changes in their order: a base is reported before the parts that begin in it. Called on the
  // context thread, so it returns at once.
  virtual void OnChanges(std::vector<PrefixChange> changes) = 0;
};

// PublishedPrefixes: what the server's own pages show of the prefixes that it publishes
// (KvEvents does): the ids of tokens, and counters.
//
// Threads: any.

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

#endif  // CAIRN_TREE_PREFIX_CHANGE_H_
