// ReuseReport: how a prompt was obtained when it got its slot: how much of it was reused, from
// which tier, and where it diverges from the nearest known prompt. api/record/explanation.h turns
// it into sentences about messages.
//
//   prompt    | live   | ram    | disk   | prefilled …         `reused_tokens` come before
//   nearest   |------- shared_tokens -------| other text       `stored_next` begins there
//
// Plain data.

#ifndef CAIRN_SCHED_ANSWER_REUSE_REPORT_H_
#define CAIRN_SCHED_ANSWER_REUSE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/tokens.h"
#include "policy/placement.h"

namespace cairn {

struct ReuseReport {
  enum class Path : uint8_t {
    kNothing,    // all of it is prefilled
    kWentOn,     // continued from the slot's end
    kCut,        // the slot was truncated
    kRestored,   // a checkpoint was restored, on KV that the slot held
    kAssembled,  // from segments, and from a checkpoint where the model needs one
    kForked,     // copied from another slot
    kFullState,  // a stored full state was restored into a slot
    kMoved,      // chunks were moved from other positions
  };
  // The checkpoint that was restored, if one was needed.
  struct UsedCheckpoint {
    size_t position = 0;
    CheckpointClass checkpoint_class = CheckpointClass::kInterval;
    std::optional<double> age_ms = {};  // nullopt if it is older than the process
  };

  Path path = Path::kNothing;
  bool same_key_slot = false;  // the slot served the request's cache key last, see SlotNeeds
  bool reuse_allowed = true;   // by the request
  // It asked for the log-probabilities of its prompt, so nothing of it is reused.
  bool scores_prompt = false;
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;
  // The reused tokens by the slowest tier used to obtain them.
  size_t live_tokens = 0;
  size_t ram_tokens = 0;
  size_t disk_tokens = 0;
  size_t prefetched_tokens = 0;  // the reused tokens that had been prefetched
  std::optional<UsedCheckpoint> checkpoint = {};
  size_t restored_bytes = 0;
  double restore_ms = 0;  // time of the restore, disk reads included
  // How many of the prompt's first tokens are known, in a slot or in the cache, whether or not
  // there is a resume path to their end.
  size_t shared_tokens = 0;
  // The next tokens of the nearest known prompt after the divergence, enough for a person to
  // recognize them. Empty if it ends there and the prompt continues it.
  Tokens stored_next = {};
};

// Returns the path's name in JSON, headers and traces.
std::string_view PathName(ReuseReport::Path path);

// PromptSources: counts prompt tokens by source, so that the sources add up to the prompts. Plain
// data.
struct PromptSources {
  // Reused tokens, by the slowest tier used to obtain them.
  uint64_t live = 0;
  uint64_t ram = 0;
  uint64_t disk = 0;
  // Reused tokens that had been prefetched; not counted in the fields above.
  uint64_t prefetched = 0;
  uint64_t computed = 0;

  // `tokens`: the prompt tokens that were done when the request ended. Tokens computed for it and
  // lost to a preemption stay computed, although they were found again. `report` is nullptr if the
  // request got no slot.
  void Add(const ReuseReport* report, size_t tokens);
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_REUSE_REPORT_H_
