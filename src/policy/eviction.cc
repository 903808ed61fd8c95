#include "policy/eviction.h"

#include <string>

namespace cairn {

Result<std::unique_ptr<EvictionPolicy>> MakeEviction(std::string_view name) {
  if (name == "lru") return MakeLruEviction();
  if (name == "none") return MakeNoneEviction();
  return Fail(ErrorCode::kInvalidArgument, "there is no eviction policy named '" +
                                               std::string(name) + "'; there are: lru, none");
}

}  // namespace cairn
