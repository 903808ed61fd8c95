// The fields by which OpenAI's clients say something about the prompt cache:
//
//   prompt_cache_key        a name for requests that share prefixes. Prefixes are found by their
//                           tokens, so a single server needs none: it only decides between slots
//                           that cost the same. It is shown with the request, and a front of
//                           several servers can choose the server by it (docs/fleet.md)
//   prompt_cache_retention  "24h": the prompt's states are kept for a day after their last use, as
//                           far as the key's share of the cache allows (CheckpointCache::Keep).
//                           "in_memory": as long as they are worth it, like all others
//   prompt_cache_options    {"ttl": "30m" or "12h"}: the same for that time. The mode "explicit":
//                           only what breakpoints mark
//   prompt_cache_breakpoint of a part of a message: what is before its end is kept
//
// Any thread.

#ifndef CAIRN_API_REQUEST_CACHE_HINTS_H_
#define CAIRN_API_REQUEST_CACHE_HINTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "chat/text/message.h"

namespace cairn {

struct CacheHints {
  std::string key = {};                // empty if there is none
  std::optional<int64_t> keep_s = {};  // after the last use
  bool explicit_only = false;
};

ApiResult<CacheHints> ParseCacheHints(const Json& body);

// Adds the breakpoint of a part of a message to the message's marks, if it has one. `last`: nothing
// of the message follows. A breakpoint without a time of its own has none until MarkToKeep.
ApiResult<void> AddBreakpoint(const Json& part, const std::string& place, bool last,
                              std::vector<CacheMark>* marks);

// Sets the time of breakpoints that have none. If a time was asked for, marks the end of the
// conversation too, and that of its system messages, which others begin with. Of more marks than
// kMarksMax the last ones stay.
void MarkToKeep(const CacheHints& hints, Conversation* conversation);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_CACHE_HINTS_H_
