// What an object in the disk store is worth beside others: the two formulas of disk_store.h.
//
// Pure functions; any thread.

#ifndef CAIRN_STORE_OBJECT_RANK_H_
#define CAIRN_STORE_OBJECT_RANK_H_

#include <cstdint>

namespace cairn {

// The file's time after `uses` more uses at `now_ns`. A time too far ahead to be true (a clock that
// was wrong) counts as about a million uses.
int64_t TimeAfterUses(int64_t time_ns, int64_t now_ns, uint64_t uses, double half_life_s);

// log2(worth_ms / bytes) + time / half_life, the time counted from `now_ns` on: only ranks of one
// moment may be compared. Never infinite and never not a number, whatever a file says.
double ObjectRank(double worth_ms, uint64_t bytes, int64_t time_ns, int64_t now_ns,
                  double half_life_s);

}  // namespace cairn

#endif  // CAIRN_STORE_OBJECT_RANK_H_
