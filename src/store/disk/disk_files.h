// The files of the disk store's folder: their names, and how to read one.
//
// Files are read with pread and not mapped: a disk that fails under a mapping raises a signal,
// which would end the server, while a failed read is an error to count.
//
// No state; any thread.

#ifndef CAIRN_STORE_DISK_DISK_FILES_H_
#define CAIRN_STORE_DISK_DISK_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

inline constexpr std::string_view kTempPrefix = "tmp-";
// A temporary file that was not written to for this long has lost its writer.
inline constexpr int64_t kTempLifeNs = int64_t{3600} * 1'000'000'000;

std::string ObjectFileName(const ObjectName& name);
// Returns an empty name if the file is not an object's.
ObjectName ParseObjectFileName(const std::string& file);
// Whether the folder may hold the objects of a model.
bool IsModelFolder(const std::string& folder);
bool IsTempFile(std::string_view file);

// An object's front, and the offset of its payload.
struct Front {
  ObjectHeader header;
  uint64_t bytes = 0;
};

// Reads the front of the object `name` in the folder `path_of_model`, which is named after the
// model. Returns the errors of the file system, kUnsupported if it is a newer version's, which must
// be left alone, and kCorrupt if it does not match its name or is not `file_bytes` long.
Result<Front> ReadFront(const Fs& fs, const std::string& path_of_model, const ObjectName& name,
                        uint64_t file_bytes);

// Whether the file is an object of a newer version, or sealed with another key. Also false if it
// cannot be read.
bool IsNewer(const Fs& fs, const std::string& path);

struct WholeObject {
  Bytes bytes;              // decoded
  uint64_t file_bytes = 0;  // bytes read
};
// Reads and checks the whole object. Errors as above; also kCorrupt if the payload fails its
// checksum. If another process replaces the file meanwhile, the new file is read, so kCorrupt
// always refers to a single file.
Result<WholeObject> ReadWholeObject(const Fs& fs, const std::string& path_of_model,
                                    const ObjectName& name);

// PutFile: writes a file atomically, so that its path holds either the complete file or what was
// there before.

// Creates `folder` and its parents, writes a temporary file beside the final path, syncs it and
// renames it. On an error returns that of Fs and removes the temporary file. Threads: any. When
// several processes write the same file, one of them wins.
Status PutFile(Fs* fs, const std::string& folder, const std::string& name, ByteSpan bytes);

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_FILES_H_
