// ReadFile: reads a whole file as text.

#ifndef CAIRN_BASE_READ_FILE_H_
#define CAIRN_BASE_READ_FILE_H_

#include <string>

#include "base/result.h"

namespace cairn {

// Returns the bytes of the file at `path`. For files that a person names and that are useless when
// empty. Returns kNotFound if the file cannot be read or is empty. The message begins with the
// quoted path, so that the caller can prepend the file's purpose.
Result<std::string> ReadFile(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_BASE_READ_FILE_H_
