#include "base/read_file.h"

#include <fstream>
#include <sstream>

namespace cairn {

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Also false when the file is a folder or empty: then no byte comes.
  if (!file || !(text << file.rdbuf())) {
    return Fail(ErrorCode::kNotFound, "'" + path + "' cannot be read, or there is nothing in it");
  }
  return std::move(text).str();
}

}  // namespace cairn
