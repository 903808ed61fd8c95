// The cache flags of `cairn serve`, and the options derived from them.

#ifndef CAIRN_CMD_SERVE_CACHE_FLAGS_H_
#define CAIRN_CMD_SERVE_CACHE_FLAGS_H_

#include <cstddef>
#include <string>

#include "cache/checkpoint_cache.h"
#include "cmd/serve/serve.h"
#include "policy/placement.h"

namespace cairn {

// Adds the flags to `serve`; parsing fills `options`.
void AddCacheFlags(CLI::App* serve, ServeOptions* options);

// Returns one line per policy, for the end of --help.
std::string PolicyHelp();

// Returns the placement policies of the flags, separated by commas. A flag with an interval adds
// its policy: --checkpoint-every-nb 3 makes auto,every-nb.
std::string PlacementNames(const ServeOptions& options);
PlacementOptions ToPlacementOptions(const ServeOptions& options);

// Returns false if no checkpoints are stored, whatever the policies.
bool StoresCheckpoints(const ServeOptions& options);
// Returns the memory budget of the cache in bytes; SIZE_MAX for no limit.
size_t CacheRamBytes(const ServeOptions& options);
CacheOptions ToCacheOptions(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_CACHE_FLAGS_H_
