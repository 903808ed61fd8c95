// Files of one folder, named by clients, who must not reach any other.

#ifndef CAIRN_API_MEDIA_FILE_BELOW_H_
#define CAIRN_API_MEDIA_FILE_BELOW_H_

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

// Returns the bytes of the regular file at `path`: absolute and below `folder`, or relative to it,
// slashes in front of it left out.
// Symbolic links are followed, and the file must be below the folder afterwards. Any thread.
//
// kNotFound if there is no such file below the folder; the error is the same whether or not there
// is one elsewhere. kTooLong if it has more than `bytes_max` bytes, of which none are read then.
Result<Bytes> ReadFileBelow(const std::string& folder, const std::string& path, size_t bytes_max);

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_FILE_BELOW_H_
