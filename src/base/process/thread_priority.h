// Priority of background threads. A compute thread that shares its processor delays all the others
// at the end of every operation, so threads that save to disk or render ahead of time should only
// use idle time.

#ifndef CAIRN_BASE_PROCESS_THREAD_PRIORITY_H_
#define CAIRN_BASE_PROCESS_THREAD_PRIORITY_H_

namespace cairn {

// Lowers the priority of the calling thread. Does nothing where the system has no per-thread
// priority or does not allow the change.
void LowerThreadPriority();

}  // namespace cairn

#endif  // CAIRN_BASE_PROCESS_THREAD_PRIORITY_H_
