// ReuseReport: what became of a prompt when it got its slot: how much of it was there already,
// where that lay, and where it parted from what is known. Whoever knows messages makes sentences of
// it (api/admin/explanation.h).
//
//   prompt   | live    | ram        | disk  | read …            `reused_tokens` are those before
//   read nearest  |------- shared_tokens ------------| other text    `stored_next` begins there
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
    kNothing,    // all is read
    kWentOn,     // from the slot's end
    kCut,        // the slot was cut
    kRestored,   // a checkpoint was set, on KV that lay in the slot
    kAssembled,  // segments, and a checkpoint where the model needs one
    kForked,     // from what another slot holds
    kFullState,  // a slot that was stored as one state was set
    kMoved,      // chunks were taken from another place
  };
  // That led back, where one was needed.
  struct UsedCheckpoint {
    size_t position = 0;
    CheckpointClass checkpoint_class = CheckpointClass::kInterval;
    std::optional<double> age_ms = {};  // nothing: it is older than the process
  };

  Path path = Path::kNothing;
  bool reuse_allowed = true;  // by the request
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;
  // Of these, by the slowest place that something was needed from for them.
  size_t live_tokens = 0;
  size_t ram_tokens = 0;
  size_t disk_tokens = 0;
  size_t prefetched_tokens = 0;  // of them, that had been read ahead
  std::optional<UsedCheckpoint> checkpoint = {};
  size_t restored_bytes = 0;
  double restore_ms = 0;  // of going back, reading from a disk included
  // So many of the prompt's first tokens are known, in a slot or in the cache; whether there was a
  // resume path to their end is another matter.
  size_t shared_tokens = 0;
  // What the nearest that is known goes on with there, as far as a person would read. Empty: it
  // ends there, and the prompt goes on from it.
  Tokens stored_next = {};
};

// The path's name in JSON, headers and traces.
std::string_view PathName(ReuseReport::Path path);
// The name before it was changed. Answers and traces have both for one version.
std::string_view DeprecatedPathName(ReuseReport::Path path);

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_REUSE_REPORT_H_
