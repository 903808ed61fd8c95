// PutFile: writes a file atomically, so that its path holds either the complete file or what was
// there before.

#ifndef CAIRN_STORE_FOLDER_PUT_FILE_H_
#define CAIRN_STORE_FOLDER_PUT_FILE_H_

#include <string>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/result.h"

namespace cairn {

// Creates `folder` and its parents, writes a temporary file beside the final path, syncs it and
// renames it. On an error returns that of Fs and removes the temporary file. Threads: any. When
// several processes write the same file, one of them wins.
Status PutFile(Fs* fs, const std::string& folder, const std::string& name, ByteSpan bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_FOLDER_PUT_FILE_H_
