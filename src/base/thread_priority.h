// For threads whose work nobody waits for. A compute thread that has to share its processor holds
// up all others at the end of every operation, so what saves to a disk or renders for later takes
// what they leave.

#ifndef CAIRN_BASE_THREAD_PRIORITY_H_
#define CAIRN_BASE_THREAD_PRIORITY_H_

namespace cairn {

// The calling thread gives way to the others of the process. Where the system knows no priority of
// one thread, or does not allow it, nothing changes.
void LowerThreadPriority();

}  // namespace cairn

#endif  // CAIRN_BASE_THREAD_PRIORITY_H_
