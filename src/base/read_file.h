// ReadFile: a whole file as text.

#ifndef CAIRN_BASE_READ_FILE_H_
#define CAIRN_BASE_READ_FILE_H_

#include <string>

#include "base/result.h"

namespace cairn {

// The bytes of the file at `path`. For files that a person names and that mean nothing when empty.
// kNotFound: it cannot be read, or there is nothing in it. The message begins with the quoted path,
// so that the caller can put in front what the file was for.
Result<std::string> ReadFile(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_BASE_READ_FILE_H_
