#include "cmd/lib/print_log.h"

#include <cstdio>

namespace cairn {

void PrintLogLine(LogLevel /*level*/, std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace cairn
