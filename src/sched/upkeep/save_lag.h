// SaveLag: measures how long after an answer a power failure would still lose some of it.
//
//   answer ends      next answer ends      all that is worth keeping is on disk
//   |<------------------------ one lag --------------------->|
//
// Threads: the one that owns the context.

#ifndef CAIRN_SCHED_UPKEEP_SAVE_LAG_H_
#define CAIRN_SCHED_UPKEEP_SAVE_LAG_H_

#include <cstdint>
#include <optional>
#include <utility>

namespace cairn {

class SaveLag {
 public:
  void OnAnswer(double now_ms) {
    if (!begin_ms_) begin_ms_ = now_ms;
  }

  // `unsaved_bytes`: bytes worth keeping that are not on disk yet. Returns the lag if it ended now.
  std::optional<double> OnUnsaved(uint64_t unsaved_bytes, double now_ms) {
    if (unsaved_bytes > 0 || !begin_ms_) return std::nullopt;
    return now_ms - *std::exchange(begin_ms_, std::nullopt);
  }

 private:
  std::optional<double> begin_ms_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_SAVE_LAG_H_
