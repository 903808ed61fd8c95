// A network namespace for this thread and its children: every port is free in it, whatever else
// runs on the machine, and no other host can be reached.

#ifndef CAIRN_TESTS_OWN_NETWORK_H_
#define CAIRN_TESTS_OWN_NETWORK_H_

namespace cairn::test {

// Moves this thread there, for good. Returns false, with no change, if the machine forbids it.
bool EnterOwnNetwork();

// Returns whether no process listens on a port of this machine.
bool PortIsFree(int port);

}  // namespace cairn::test

#endif  // CAIRN_TESTS_OWN_NETWORK_H_
