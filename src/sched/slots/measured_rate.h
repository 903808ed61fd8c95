// MeasuredRate: the speed of work that comes in pieces of different sizes. Every piece has a fixed
// cost, which says little about large ones, so a piece counts by its size; and older ones less.
//
// Pure; one thread at a time.

#ifndef CAIRN_SCHED_SLOTS_MEASURED_RATE_H_
#define CAIRN_SCHED_SLOTS_MEASURED_RATE_H_

namespace cairn {

class MeasuredRate {
 public:
  // Nothing changes where no time was measured.
  void Add(double units, double ms) {
    if (units <= 0 || ms <= 0) return;
    units_ = units_ * kKeptShare + units;
    ms_ = ms_ * kKeptShare + ms;
  }
  // 0: not measured yet.
  double units_per_ms() const { return ms_ > 0 ? units_ / ms_ : 0; }
  double ms_per_unit() const { return units_ > 0 ? ms_ / units_ : 0; }

 private:
  static constexpr double kKeptShare = 0.75;  // of what was measured before

  double units_ = 0;
  double ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_SLOTS_MEASURED_RATE_H_
