// TimeShare: divides the machine's time between prefill and decode.
//
//   share 0.5   | chunk | tokens … | chunk | tokens … | chunk |     as long as there are both
//                 180 ms   180 ms
//
// All answers stop while a chunk is computed. So after each chunk the answers get as much time as
// the share says: a prompt of any length slows them by at most 1 / (1 - share), and the pause is
// spread over many chunks. The account is in time, not in chunks: how many tokens an answer gets in
// the time of a chunk depends on the model and the machine.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_TIME_SHARE_H_
#define CAIRN_SCHED_TIME_SHARE_H_

#include <algorithm>

namespace cairn {

class TimeShare {
 public:
  // The share of prefill while answers wait, in (0, 1]. 1: one token of each answer after every
  // chunk.
  explicit TimeShare(double prefill_share) : owed_per_ms_((1 - prefill_share) / prefill_share) {}

  // Whether answers are owed time before the next chunk.
  bool owes() const { return owed_ms_ > 0; }
  // A chunk was computed while answers waited.
  void OnPrefill(double ms) { owed_ms_ += ms * owed_per_ms_; }
  // Answers were decoded.
  void OnDecode(double ms) { owed_ms_ = std::max(0.0, owed_ms_ - ms); }
  // No answer is being decoded, so the debt is dropped.
  void Forgive() { owed_ms_ = 0; }

 private:
  const double owed_per_ms_;
  double owed_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_TIME_SHARE_H_
