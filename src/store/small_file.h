// WriteSmallFile: a text that is in its place whole, or not at all.

#ifndef CAIRN_STORE_SMALL_FILE_H_
#define CAIRN_STORE_SMALL_FILE_H_

#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace cairn {

// Makes `folder` with the folders above it, writes beside the place, syncs and renames. Threads:
// any; of several processes that write one file, one wins. Errors as Fs's; nothing is left behind.
Status WriteSmallFile(Fs* fs, const std::string& folder, const std::string& name,
                      std::string_view text);

}  // namespace cairn

#endif  // CAIRN_STORE_SMALL_FILE_H_
