// Which prefixes of prompts are worth having ready in slots: by the number of stored conversations
// that go on from one, and by its length.
//
// Where going back takes a snapshot, there is a checkpoint behind each prefix. Where it does not,
// nothing says where one ends; but the beginning of several conversations is stored once, and the
// segments of all but the first begin inside another's:
//
//    [0 ------------------------ 900)     two conversations go on from 600, so there is a prefix
//          [600 ------- 1400)             of about that length; and one more than that begins so
//          [600 -- 800)
//
// Pure; the thread of the cache.

#ifndef CAIRN_CACHE_STORED_PREFIXES_H_
#define CAIRN_CACHE_STORED_PREFIXES_H_

#include <cstddef>
#include <vector>

#include "base/tokens.h"
#include "cache/object_table.h"

namespace cairn {

struct StoredPrefix {
  NamespaceId name_space = 0;
  Tokens tokens;
};

// Those that are stored, most wanted first. Where no snapshot is needed, system prompts are not
// told from other beginnings that several conversations have in common.
std::vector<StoredPrefix> FindStoredPrefixes(const ObjectTable& table, size_t max);

}  // namespace cairn

#endif  // CAIRN_CACHE_STORED_PREFIXES_H_
