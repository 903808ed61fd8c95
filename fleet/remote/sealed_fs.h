// MakeSealedFs: a file system whose files are encrypted and authenticated on the device
// (--cache-key-file). Its users see the plain bytes, and the sizes of those. Names, sizes and times
// of files stay visible to whoever reads the device. docs/format.md specifies every byte.
//
//   | header, 64 bytes | 64 KiB, tag | 64 KiB, tag | … | the last part, tag |
//
// Frames have one size, so that any part of a file is read without the parts before it
// (fleet/remote/seal.h). A flipped bit, a missing, swapped or foreign frame and a truncated
// end are kCorrupt. What is sealed with a key that is not at hand is kUnsupported: it belongs to
// another server and stays. Where a file's name must be authenticated, the file's content has to
// say it, as objects do.
//
// Threads: any.

#ifndef CAIRN_FLEET_REMOTE_SEALED_FS_H_
#define CAIRN_FLEET_REMOTE_SEALED_FS_H_

#include <memory>
#include <string>

#include "base/fs.h"
#include "fleet/remote/remote_names.h"

namespace cairn {

// The treatment of files without a seal.
struct PlainFiles {
  // Read as they are, as by `cairn cache`. A server refuses them (kUnsupported): anyone could have
  // written them.
  bool read = false;
  // In this folder they are kCorrupt, so that its owner replaces them; empty for no such folder.
  std::string replaced_in = {};
};

// Seals what is created with the first key; all keys open. REQUIRES: keys.seals().
std::unique_ptr<Fs> MakeSealedFs(std::unique_ptr<Fs> fs, RemoteKeys keys, PlainFiles plain);

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_SEALED_FS_H_
