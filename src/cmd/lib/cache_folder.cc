#include "cmd/lib/cache_folder.h"

#include <cstdlib>
#include <utility>

#include "base/fs.h"

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

Result<std::unique_ptr<Fs>> MakeCacheFs(const std::string& key_file, PlainFiles plain) {
  if (key_file.empty()) return MakeRealFs();
  const auto text = ReadFile(key_file);
  if (!text) return Fail(ErrorCode::kInvalidArgument, "--cache-key-file " + text.error().message);
  auto keys = RemoteKeys::Parse(*text);
  if (!keys) {
    return Fail(keys.error().code, "--cache-key-file " + key_file + ": " + keys.error().message);
  }
  return MakeSealedFs(MakeRealFs(), *std::move(keys), std::move(plain));
}

}  // namespace cairn
