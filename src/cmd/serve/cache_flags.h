// The flags of `cairn serve` that say what the cache keeps, and what they come to.

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

// Every policy in a line, for the end of --help.
std::string PolicyHelp();

// The policies that the flags name, joined with commas. A flag with an interval brings its policy
// with it: --checkpoint-every-nb 3 makes auto,every-nb.
std::string PlacementNames(const ServeOptions& options);
PlacementOptions ToPlacementOptions(const ServeOptions& options);

// False: nothing is stored, whatever the policies say.
bool StoresCheckpoints(const ServeOptions& options);
// Of checkpoints in memory, at most; SIZE_MAX: no limit.
size_t CacheRamBytes(const ServeOptions& options);
CacheOptions ToCacheOptions(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_CACHE_FLAGS_H_
