// Clock: the source of time. The core never reads the wall clock, so that the simulator and the
// tests can supply the time.

#ifndef CAIRN_BASE_CLOCK_H_
#define CAIRN_BASE_CLOCK_H_

namespace cairn {

inline constexpr double kNsPerMs = 1e6;
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kMsPerS = 1000;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since an arbitrary start; never decreases.
  virtual double NowMs() const = 0;
};

// The machine's monotonic clock.
class SteadyClock final : public Clock {
 public:
  double NowMs() const override;
};

// A clock that advances only when a test says so. Not thread-safe.
class ManualClock final : public Clock {
 public:
  double NowMs() const override { return now_ms_; }
  void Advance(double ms) { now_ms_ += ms; }

 private:
  double now_ms_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_BASE_CLOCK_H_
