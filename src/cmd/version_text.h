// The text of `cairn --version`, which bug reports should include.

#ifndef CAIRN_CMD_VERSION_TEXT_H_
#define CAIRN_CMD_VERSION_TEXT_H_

#include <string>

namespace cairn {

// Returns several lines, the first "cairn VERSION", without a trailing newline.
std::string VersionText();

}  // namespace cairn

#endif  // CAIRN_CMD_VERSION_TEXT_H_
