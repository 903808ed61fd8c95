// IdleWork: work that the context thread may do on the engine between the start of the server and
// the first request, while all sequences are empty.

#ifndef CAIRN_SCHED_REQUEST_IDLE_WORK_H_
#define CAIRN_SCHED_REQUEST_IDLE_WORK_H_

namespace cairn {

// Threads: the one that owns the context, and any for Interrupt.
class IdleWork {
 public:
  virtual ~IdleWork() = default;

  // Decodes at most one chunk. Returns false when all is done.
  virtual bool Step() = 0;
  // Leaves all sequences empty. Called once: after the Step that returned false, or before the
  // first request begins.
  virtual void End() = 0;
  // A request has come. A Step that is running ends as soon as the engine can: its chunk may have
  // hundreds of tokens, and the request must not wait for them. May be called after End.
  virtual void Interrupt() = 0;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_REQUEST_IDLE_WORK_H_
