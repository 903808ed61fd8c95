#include "own_network.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

namespace cairn::test {
namespace {

// Keeps our user and group ids in the new user namespace.
void KeepIds(uid_t uid, gid_t gid) {
  const auto line = [](unsigned id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1";
  };
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << line(uid);
  std::ofstream("/proc/self/gid_map") << line(gid);
}

bool BringUpLoopback() {
  const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return false;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool is_up = ioctl(handle, SIOCSIFFLAGS, &request) == 0;
  close(handle);
  return is_up;
}

}  // namespace

bool EnterOwnNetwork() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWNET) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    KeepIds(uid, gid);
  }
  return BringUpLoopback();
}

bool PortIsFree(int port) {
  const int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return false;
  const int yes = 1;
  setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool is_free = bind(handle, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(handle);
  return is_free;
}

}  // namespace cairn::test
