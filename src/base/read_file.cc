#include "base/read_file.h"

#include <fstream>
#include <sstream>

namespace cairn {

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Streaming no bytes at all sets the fail bit, so this also covers folders and empty files.
  if (!file || !(text << file.rdbuf())) {
    return Fail(ErrorCode::kNotFound, "'" + path + "' cannot be read, or there is nothing in it");
  }
  return std::move(text).str();
}

}  // namespace cairn
