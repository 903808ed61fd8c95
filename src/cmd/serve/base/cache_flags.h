// The cache flags of `cairn serve`, and the options derived from them.

#ifndef CAIRN_CMD_SERVE_BASE_CACHE_FLAGS_H_
#define CAIRN_CMD_SERVE_BASE_CACHE_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/memory_watch.h"
#include "cache/checkpoint_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "policy/placement.h"

namespace CLI {
class App;
}

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
// Returns the default of --cache-ram: a quarter of the memory, at most half of what is left beside
// the `mapped_bytes` of weights, and at least a thirty-second part.
uint64_t FittingCacheBytes(const MemoryRoom& room, uint64_t mapped_bytes);
// Chooses that for this machine if the flag was not given. Call when the model is loaded.
void FitCacheToMemory(ServeOptions* options);
// Returns the memory budget of the cache in bytes; SIZE_MAX for no limit. Where none was given or
// fitted it is a quarter of the machine's memory.
size_t CacheRamBytes(const ServeOptions& options);
CacheOptions ToCacheOptions(const ServeOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_CACHE_FLAGS_H_
