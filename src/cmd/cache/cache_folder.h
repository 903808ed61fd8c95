// Where checkpoints are kept on disk when nobody says otherwise.

#ifndef CAIRN_CMD_CACHE_CACHE_FOLDER_H_
#define CAIRN_CMD_CACHE_CACHE_FOLDER_H_

#include <string>

namespace cairn {

// $XDG_CACHE_HOME/cairn, else ~/.cache/cairn. Empty when there is no home: then nothing is to be
// kept unless a folder is named. A relative path in XDG_CACHE_HOME counts as none, as its
// specification has it. Not while another thread changes the environment.
std::string DefaultCacheFolder();

}  // namespace cairn

#endif  // CAIRN_CMD_CACHE_CACHE_FOLDER_H_
