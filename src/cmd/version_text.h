// What `cairn --version` says: what a report of a fault should begin with.

#ifndef CAIRN_CMD_VERSION_TEXT_H_
#define CAIRN_CMD_VERSION_TEXT_H_

#include <string>

namespace cairn {

// Several lines, the first "cairn VERSION"; without a newline at the end.
std::string VersionText();

}  // namespace cairn

#endif  // CAIRN_CMD_VERSION_TEXT_H_
