// Pace: whether a client sends its request, or takes its answer, fast enough.
//
// The time that is waited for it counts, and each byte makes up for some of it:
//
//   lag = time waited - bytes / least rate, and never below 0
//
// A client whose lag reaches the longest pause is too slow. So it may pause once for that long, but
// a byte now and then holds no connection.
//
// Threads: one.

#ifndef CAIRN_HTTP_SEATS_PACE_H_
#define CAIRN_HTTP_SEATS_PACE_H_

#include <algorithm>
#include <cstddef>

namespace cairn {

class Pace {
 public:
  Pace(double pause_ms_max, size_t bytes_per_s_min)
      : pause_ms_max_(pause_ms_max),
        bytes_per_ms_min_(static_cast<double>(bytes_per_s_min) / 1000) {}

  void Wait(double ms) { lag_ms_ += ms; }
  void Move(size_t bytes) {
    if (bytes_per_ms_min_ <= 0) {
      lag_ms_ = 0;
      return;
    }
    lag_ms_ = std::max(lag_ms_ - static_cast<double>(bytes) / bytes_per_ms_min_, 0.0);
  }
  void Restart() { lag_ms_ = 0; }

  double lag_ms() const { return lag_ms_; }
  // How long the client may still be waited for; 0: it is too slow.
  double left_ms() const { return std::max(pause_ms_max_ - lag_ms_, 0.0); }

 private:
  const double pause_ms_max_;
  const double bytes_per_ms_min_;  // 0: any byte makes up for all
  double lag_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_HTTP_SEATS_PACE_H_
