// FindPrefixesToPreload: finds prompt prefixes that are worth preloading into
// slots. Prefixes are ranked by their length and by the number of stored conversations that
// continue them.
//
// Where resuming takes a snapshot, there is a checkpoint at the end of each prefix. Elsewhere no
// mark tells where a prefix ends. But the common beginning of several conversations is stored once,
// and the segments of all but the first begin inside another's:
//
//   [0 ------------------------ 900)     two conversations continue from 600: a prefix of about
//         [600 ------- 1400)             that length exists, and three conversations begin with it
//         [600 -- 800)
//
// Pure; called by the cache's thread.

#ifndef CAIRN_CACHE_OBJECTS_STORED_PREFIXES_H_
#define CAIRN_CACHE_OBJECTS_STORED_PREFIXES_H_

#include <cstddef>
#include <vector>

#include "base/tokens.h"
#include "cache/objects/object_table.h"

namespace cairn {

struct StoredPrefix {
  NamespaceId name_space = 0;
  Tokens tokens;
  // A conversation: it is preloaded as far as it can be resumed. Of a prefix that others share no
  // less than all is of use.
  bool is_conversation = false;
};

// Returns at most one prefix for each of the `slots`, the most urgent last. One is the conversation
// that was used last, by this process or before it, by the times of ListedObject: it costs others
// nothing, because all of it is on disk. The others begin the most, or the longest, stored
// conversations; where no snapshot is needed, system prompts are not distinguished from other
// beginnings that several conversations share. Without a conversation, one slot of several is left
// free.
std::vector<StoredPrefix> FindPrefixesToPreload(const ObjectTable& table, size_t slots);

// Returns the tokens of the namespace's stored conversations, the last used first: at most
// `tokens_max` together, of each its end.
std::vector<Tokens> FindStoredTexts(const ObjectTable& table, NamespaceId name_space,
                                    size_t tokens_max);

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_STORED_PREFIXES_H_
