// The folder of the disk cache, and the file system that reads and writes it.

#ifndef CAIRN_CMD_LIB_CACHE_FOLDER_H_
#define CAIRN_CMD_LIB_CACHE_FOLDER_H_

#include <memory>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "fleet/remote/sealed_fs.h"

namespace cairn {

// Returns $XDG_CACHE_HOME/cairn, or ~/.cache/cairn. Empty if there is no home; then there is no
// disk cache unless a folder is named. A relative path in XDG_CACHE_HOME is ignored, as its
// specification demands. Do not call while another thread changes the environment.
std::string DefaultCacheFolder();

// Returns the machine's file system, or one that seals with the key in `key_file`
// (--cache-key-file) unless that is empty. kInvalidArgument if the file cannot be read or has no
// key; the message names the flag.
Result<std::unique_ptr<Fs>> MakeCacheFs(const std::string& key_file, PlainFiles plain);

}  // namespace cairn

#endif  // CAIRN_CMD_LIB_CACHE_FOLDER_H_
