// RoomForConversation: how much of the budget one conversation may take when a slot loses it.
//
// A long conversation may be as large as the budget. Storing it evicts all others, and the next one
// that is stored evicts its end, without which the rest of it is worth little. So it gets half of
// the budget, and more only where that evicts nothing that is used as often as it is:
//
//   conversation   stored ------ continued in a slot ------ about to be stored again
//   others           '--- used in this time: they keep their room
//
// Pure; called by the cache's thread.

#ifndef CAIRN_CACHE_OBJECTS_CONVERSATION_ROOM_H_
#define CAIRN_CACHE_OBJECTS_CONVERSATION_ROOM_H_

#include <cstddef>

#include "base/tokens.h"
#include "cache/objects/object_table.h"

namespace cairn {

// Returns how many of `wanted_bytes` the conversation `tokens` may take: all that half of
// `budget_bytes` holds, or more. Walks over all objects only where neither half of the budget nor
// the unused part of it is enough.
size_t RoomForConversation(const ObjectTable& table, size_t budget_bytes, NamespaceId name_space,
                           TokenSpan tokens, size_t wanted_bytes);

// Returns the longest segment to store: `tokens_max`, halved until it takes a sixteenth of the
// budget or has 256 tokens.
size_t SegmentTokensMax(const ObjectTable& table, size_t budget_bytes, size_t tokens_max);

}  // namespace cairn

#endif  // CAIRN_CACHE_OBJECTS_CONVERSATION_ROOM_H_
