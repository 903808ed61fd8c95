#include "cmd/cache/cache_folder.h"

#include <cstdlib>

namespace cairn {
namespace {

// Empty if the variable is not set or not an absolute path.
std::string FolderIn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

std::string DefaultCacheFolder() {
  const std::string caches = FolderIn("XDG_CACHE_HOME");
  if (!caches.empty()) return caches + "/cairn";
  const std::string home = FolderIn("HOME");
  return home.empty() ? "" : home + "/.cache/cairn";
}

}  // namespace cairn
