// The files of the disk store's folder: what they are called, and how one is read.
//
// Files are read into memory of our own (pread), not mapped: a disk that fails under a mapping
// raises a signal, which would end the server, where here it is an error to count.
//
// Pure but for what they read; any thread.

#ifndef CAIRN_STORE_DISK_DISK_FILES_H_
#define CAIRN_STORE_DISK_DISK_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "store/object.h"

namespace cairn {

inline constexpr std::string_view kTempPrefix = "tmp-";
// A temporary file that was not written to for so long has lost its writer.
inline constexpr int64_t kTempLifeNs = int64_t{3600} * 1'000'000'000;

std::string ObjectFileName(const ObjectName& name);
// Empty: it is no object's.
ObjectName ParseObjectFileName(const std::string& file);
// Whether a folder is one that objects of a model are in.
bool IsModelFolder(const std::string& folder);
bool IsTempFile(std::string_view file);

// An object's front, and where its payload begins.
struct Front {
  ObjectHeader header;
  uint64_t bytes = 0;
};

// The front of the object `name` in folder `path_of_model`, whose own name is the model's.
// Errors of the file system; kUnsupported: a newer version's, which is left to it; kCorrupt: it is
// not what its name says, or not `file_bytes` long.
Result<Front> ReadFront(const Fs& fs, const std::string& path_of_model, const ObjectName& name,
                        uint64_t file_bytes);

// Whether the file is an object of a newer version. False also where it cannot be read.
bool IsNewer(const Fs& fs, const std::string& path);

struct WholeObject {
  Bytes bytes;              // decoded
  uint64_t file_bytes = 0;  // that were read
};
// All of it, checked. Errors as above; kCorrupt also when the payload is not what was written.
// Another process may put its own file there meanwhile; then that one is read, so what is kCorrupt
// was one file from its front to its end.
Result<WholeObject> ReadWholeObject(const Fs& fs, const std::string& path_of_model,
                                    const ObjectName& name);

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_FILES_H_
