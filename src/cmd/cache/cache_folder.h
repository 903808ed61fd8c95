// The default folder of the disk cache.

#ifndef CAIRN_CMD_CACHE_CACHE_FOLDER_H_
#define CAIRN_CMD_CACHE_CACHE_FOLDER_H_

#include <string>

namespace cairn {

// Returns $XDG_CACHE_HOME/cairn, or ~/.cache/cairn. Empty if there is no home; then there is no
// disk cache unless a folder is named. A relative path in XDG_CACHE_HOME is ignored, as its
// specification demands. Do not call while another thread changes the environment.
std::string DefaultCacheFolder();

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_FOLDER_H_
