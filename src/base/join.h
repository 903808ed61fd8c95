// JoinNames: formats a list of names for a message, "a, b, c".

#ifndef CAIRN_BASE_JOIN_H_
#define CAIRN_BASE_JOIN_H_

#include <string>
#include <string_view>

namespace cairn {

// `names` is any range whose elements convert to std::string_view.
template <typename Names>
std::string JoinNames(const Names& names) {
  std::string joined;
  for (const std::string_view name : names) {
    if (!joined.empty()) joined += ", ";
    joined += name;
  }
  return joined;
}

}  // namespace cairn

#endif  // CAIRN_BASE_JOIN_H_
