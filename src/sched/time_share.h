// TimeShare: how the machine's time is shared between reading prompts and going on with answers.
//
//   share 0.5   | piece | tokens … | piece | tokens … | piece |     as long as there are both
//                 180 ms   180 ms
//
// A piece of a prompt stops all answers while it is read, so after each the answers have the
// machine for as long as the share says: a prompt of any length slows them by 1 / (1 - share) at
// most, and the gap that a piece makes is one of many. Time is what counts, not pieces: how many
// tokens an answer gets in the time of a piece is the model's and the machine's affair.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_TIME_SHARE_H_
#define CAIRN_SCHED_TIME_SHARE_H_

#include <algorithm>

namespace cairn {

class TimeShare {
 public:
  // Of reading, while answers wait; in (0, 1]. 1: a token of each answer after every piece.
  explicit TimeShare(double prefill_share) : owed_per_ms_((1 - prefill_share) / prefill_share) {}

  // Whether answers are owed time before the next piece.
  bool owes() const { return owed_ms_ > 0; }
  // A piece was read while answers waited.
  void OnPrefill(double ms) { owed_ms_ += ms * owed_per_ms_; }
  // Answers went on.
  void OnDecode(double ms) { owed_ms_ = std::max(0.0, owed_ms_ - ms); }
  // No answer is on its way: nobody is owed anything.
  void Forgive() { owed_ms_ = 0; }

 private:
  const double owed_per_ms_;
  double owed_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_TIME_SHARE_H_
