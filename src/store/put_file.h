// PutFile: a file that is in its place whole, or not at all.

#ifndef CAIRN_STORE_PUT_FILE_H_
#define CAIRN_STORE_PUT_FILE_H_

#include <string>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/result.h"

namespace cairn {

// Makes `folder` with the folders above it, writes beside the place, syncs and renames. Threads:
// any; of several processes that write one file, one wins. Errors as Fs's; nothing is left behind.
Status PutFile(Fs* fs, const std::string& folder, const std::string& name, ByteSpan bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_PUT_FILE_H_
