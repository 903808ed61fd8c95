// A network that only this thread and what it starts are in: every port is free there, whatever
// runs on the machine, and nothing else can be reached.

#ifndef CAIRN_TESTS_OWN_NETWORK_H_
#define CAIRN_TESTS_OWN_NETWORK_H_

namespace cairn::test {

// Moves this thread there, for good. False where the machine does not allow it: all is as it was.
bool EnterOwnNetwork();

// Whether nobody listens on a port of this machine.
bool PortIsFree(int port);

}  // namespace cairn::test

#endif  // CAIRN_TESTS_OWN_NETWORK_H_
