// insert: stores one more checkpoint at the end of a long prompt, with free space in the budget.
// evict: the same with a full budget, so that the policy must choose victims.

#include <utility>

#include "base/check.h"
#include "benchmark.h"
#include "filled_cache.h"

namespace cairn::bench {
namespace {

// One insert evicts this many checkpoints.
constexpr size_t kMany = 16;

// Each run's checkpoint is at the end of a new prompt, which diverges from a stored one as late as
// possible. It is pinned, so that the next run cannot evict it.
Row MeasureInserts(FilledCache* filled, const BenchSizes& sizes, const std::string& what,
                   size_t bytes, size_t runs) {
  Row row;
  row.what = what;
  CheckpointCache& cache = filled->cache();
  const CacheStats before = cache.stats();
  for (size_t run = 0; run < runs; ++run) {
    const Tokens prompt = filled->Diverged(run, sizes.prompt_tokens - 1, sizes.prompt_tokens);
    Bytes snapshot(bytes);
    CheckpointId id = 0;
    row.ms.push_back(TimeMs([&] { id = filled->Insert(prompt, std::move(snapshot)); }));
    const bool pinned = cache.Pin(id).has_value();
    CHECK(pinned);
  }
  row.note = std::to_string(before.checkpoints) + " checkpoints, " +
             std::to_string(cache.stats().evicted - before.evicted) + " evicted";
  return row;
}

// One long conversation needs a seventh of the budget. So the 14,000 checkpoints that titles and
// completions leave on an ordinary model are evicted 2,000 at a time.
Row MeasureMass(BenchSizes sizes, const std::string& eviction) {
  constexpr size_t kPart = 7;
  sizes.conversation_checkpoints += sizes.conversation_checkpoints * 2 / 5;
  const size_t go = sizes.conversations * sizes.conversation_checkpoints / kPart;
  FilledCache filled(sizes, eviction, FilledCache::Room::kNone);
  return MeasureInserts(&filled, sizes, eviction + ", " + std::to_string(go) + " at once",
                        go * kSnapshotBytes, 2);
}

}  // namespace

Result<std::vector<Row>> BenchInsert(const BenchSizes& sizes) {
  FilledCache filled(sizes, "value", FilledCache::Room::kPlenty);
  return std::vector<Row>{
      MeasureInserts(&filled, sizes, "with room left", kSnapshotBytes, sizes.runs)};
}

Result<std::vector<Row>> BenchEvict(const BenchSizes& sizes) {
  std::vector<Row> rows;
  for (const char* eviction : {"value", "lru", "fifo", "closest-pair", "marconi"}) {
    FilledCache filled(sizes, eviction, FilledCache::Room::kNone);
    const std::string name(eviction);
    rows.push_back(MeasureInserts(&filled, sizes, name + ", one", kSnapshotBytes, sizes.runs));
    if (name != "value") continue;
    rows.push_back(MeasureInserts(&filled, sizes, name + ", " + std::to_string(kMany) + " at once",
                                  kMany * kSnapshotBytes, sizes.runs / kMany));
    rows.push_back(MeasureMass(sizes, name));
  }
  return rows;
}

}  // namespace cairn::bench
