// IdleWork: work that the context thread may do on the engine between the start of the server and
// the first request, while all sequences are empty.

#ifndef CAIRN_SCHED_UPKEEP_IDLE_WORK_H_
#define CAIRN_SCHED_UPKEEP_IDLE_WORK_H_

namespace cairn {

// Threads: the one that owns the context.
class IdleWork {
 public:
  virtual ~IdleWork() = default;

  // Decodes at most one chunk, so that a request arriving meanwhile waits no longer than that.
  // Returns false when all is done.
  virtual bool Step() = 0;
  // Leaves all sequences empty. Called once: after the Step that returned false, or before the
  // first request begins.
  virtual void End() = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_UPKEEP_IDLE_WORK_H_
