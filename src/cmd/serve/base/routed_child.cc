#include "cmd/serve/base/routed_child.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/text.h"

namespace cairn {
namespace {

constexpr const char* kRouter = "CAIRN_ROUTER_PID";
constexpr const char* kNumber = "CAIRN_ROUTER_CHILD";

}  // namespace

std::vector<std::string> RoutedChildVariables(size_t number) {
  return {std::string(kRouter) + "=" + std::to_string(getpid()),
          std::string(kNumber) + "=" + std::to_string(number)};
}

std::string BeginRoutedChild() {
  const char* const router = std::getenv(kRouter);
  const char* const number = std::getenv(kNumber);
  if (router == nullptr || number == nullptr || !ParseNumber(number)) return {};
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(getppid()) != router) std::_Exit(128 + SIGTERM);
  return std::string(number) + ".";
}

}  // namespace cairn
