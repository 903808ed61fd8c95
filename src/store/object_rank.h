// The two formulas of disk_store.h that rank an object of the disk store against the others.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_OBJECT_RANK_H_
#define CAIRN_STORE_OBJECT_RANK_H_

#include <cstdint>

namespace cairn {

// Returns the file's time after `uses` more uses at `now_ns`. A time too far in the future to be
// true (written under a wrong clock) counts as about a million uses.
int64_t TimeAfterUses(int64_t time_ns, int64_t now_ns, uint64_t uses, double half_life_s);

// Returns log2(worth_ms / bytes) + time / half_life, with the time relative to `now_ns`, so only
// ranks computed for the same moment are comparable. The result is finite whatever a file says.
double ObjectRank(double worth_ms, uint64_t bytes, int64_t time_ns, int64_t now_ns,
                  double half_life_s);

}  // namespace cairn

#endif  // CAIRN_STORE_OBJECT_RANK_H_
