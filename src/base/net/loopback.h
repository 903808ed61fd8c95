// IsLoopback: whether a socket address belongs to this machine alone.

#ifndef CAIRN_BASE_NET_LOOPBACK_H_
#define CAIRN_BASE_NET_LOOPBACK_H_

#include <sys/socket.h>

namespace cairn {

// 127.0.0.0/8 and ::1, also as an IPv4 address in IPv6. False for any other family. Any thread.
bool IsLoopback(const sockaddr* address);

}  // namespace cairn

#endif  // CAIRN_BASE_NET_LOOPBACK_H_
