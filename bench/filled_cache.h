// FilledCache: a cache as on a server after a busy day, with meaningless bytes.
//
//   0 --- system prefix --- | conversation 1: checkpoints and segments along all of it
//                           | conversation 2
//                           | …
//
// All prompts are in one namespace, and all positions are on the grid.

#ifndef CAIRN_BENCH_FILLED_CACHE_H_
#define CAIRN_BENCH_FILLED_CACHE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "base/tokens.h"
#include "benchmark.h"
#include "cache/checkpoint_cache.h"

namespace cairn::bench {

inline constexpr NamespaceId kNamespace = 1;
inline constexpr size_t kSnapshotBytes = 4096;

class FilledCache {
 public:
  enum class Room { kPlenty, kNone };

  // Makes the prompts and stores them. `room`: whether the budget has free space afterwards.
  FilledCache(const BenchSizes& sizes, std::string_view eviction, Room room);

  CheckpointCache& cache() { return *cache_; }
  // Returns `tokens` tokens: the first `same` are the prompt's, the rest occur in no other prompt.
  Tokens Diverged(size_t prompt, size_t same, size_t tokens);
  // Stores a snapshot after `prefix`.
  CheckpointId Insert(TokenSpan prefix, Bytes snapshot);

 private:
  Token AnyToken();
  void StoreCheckpoints(const Tokens& prompt, const BenchSizes& sizes);
  void StoreSegments(const Tokens& prompt);

  std::mt19937_64 random_{1};
  std::vector<Tokens> prompts_;
  std::unique_ptr<CheckpointCache> cache_;
};

}  // namespace cairn::bench

#endif  // CAIRN_BENCH_FILLED_CACHE_H_
